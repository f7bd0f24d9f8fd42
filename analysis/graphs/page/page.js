// The page: the chosen connection, and its graphs above each other on one time axis.

const data = JSON.parse(document.getElementById("data").textContent);
const columns = new ColumnStore(data.columns);
// As many ticks of the capture's clock are seen at the closest zoom.
const NARROWEST = 20;
const drawn = { after: null };
const choices = ["capture", "connection", "direction"].map((name) => document.getElementById(name));
const board = new PlotBoard(document.getElementById("graphs"), {
  name: "zoom",
  looks: data.looks,
  series: data.series,
  columns,
  narrowest: NARROWEST * data.resolution,
});

// The views that agree with the first `depth` choices.
function agreeing(depth) {
  return data.views.filter((view) =>
    choices.slice(0, depth).every((box) => view[box.id] === box.value),
  );
}

function offer(depth) {
  choices.forEach((box, at) => {
    if (at < depth) return;
    const names = [...new Set(agreeing(at).map((view) => view[box.id]))];
    const kept = box.value;
    box.replaceChildren(
      ...names.map((name) => element("option", { textContent: name, value: name })),
    );
    if (names.includes(kept)) box.value = kept;
    box.parentElement.hidden = at === 0 && names.length < 2;
  });
}

async function show() {
  const [view] = agreeing(choices.length);
  const links = document.getElementById("links");
  links.replaceChildren();
  if (!view) {
    board.container.append(
      element("p", { textContent: "The capture has no TCP connection that could be drawn." }),
    );
    return;
  }
  const graphs = view.graphs.map((place) => data.graphs[place]);
  for (const graph of graphs) {
    links.append(element("a", { href: `#${graph.key}`, textContent: graph.title }), " ");
  }
  if (await board.show(graphs, view.span)) drawn.after = performance.now();
}

choices.forEach((box, at) =>
  box.addEventListener("change", () => {
    offer(at + 1);
    window.tcplabGraphs.ready = show();
  }),
);
// For tests and for the curious: what is drawn now, by graph and look, and the shared range in ns.
window.tcplabGraphs = {
  board,
  ready: null,
  counts: () => board.counts(),
  range: () => board.range(),
  zoom: (left, right) => board.zoom(left, right),
  drawAll: () => board.drawAll(),
  drawnAfter: () => drawn.after,
};
offer(0);
window.tcplabGraphs.ready = show();
