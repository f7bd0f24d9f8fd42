// Lines of TOML; a JSON string or list of strings is one of TOML too.
const written = (value) => (typeof value === "number" ? String(value) : JSON.stringify(value));
const lines = (kind, line) =>
  [
    `[[${kind}]]`,
    ...Object.entries(line)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `${name} = ${written(value)}`),
    "",
  ].join("\n");
const saved = (name, content) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "application/toml" }));
  link.download = name;
  link.click();
};
