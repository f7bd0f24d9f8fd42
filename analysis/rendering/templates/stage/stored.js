// Models of what analysis/graphs/stored.py stores: times in microseconds.
async function storedModels({ stages, columns, kinds }) {
  const store = new ColumnStore(columns);
  const table = async (places) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(places).map(async ([name, place]) => {
          const values = await store.get(place);
          const isTime = ["sent", "arrived", "time"].includes(name);
          return [name, isTime ? values.map((time) => (time < 0 ? -1 : time * 1e-6)) : values];
        }),
      ),
    );
  return Promise.all(
    stages.map(async (run) => {
      const [data, acks, blocks, samples] = await Promise.all(
        ["data", "acks", "blocks", "samples"].map((name) => table(run[name])),
      );
      return new StageModel({ ...run, kinds, data, acks, blocks, samples });
    }),
  );
}
