// The page: the chosen connection, and its graphs above each other on one time axis.

const data = JSON.parse(document.getElementById("data").textContent);
const columns = new ColumnStore(data.columns);
// As many ticks of the capture's clock are seen at the closest zoom.
const NARROWEST = 20;
const drawn = { after: null };
const choices = ["capture", "connection", "direction"].map((name) => document.getElementById(name));
const framed = document.getElementById("framed");
const FRAMED = ["time_sequence", "stevens", "throughput", "rtt", "in_flight"];
const pin = new Pin();
const board = new PlotBoard(document.getElementById("graphs"), {
  name: "zoom",
  looks: data.looks,
  series: data.series,
  columns,
  narrowest: NARROWEST * data.resolution,
  onPick: (mark, plot) => pin.toggle(mark, plot),
  onDraw: (plot, frame) => pin.draw(plot, frame),
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

function withClock(graph, start) {
  return graph.overTime ? { ...graph, x: { ...graph.x, clock: start } } : graph;
}

// The chosen view is part of the address, as the zoom is.
function toAddress() {
  const place = data.views.indexOf(agreeing(choices.length)[0]);
  const kept = addressParts().filter(([name]) => name !== "view");
  const text = [...kept, ["view", place]].map((part) => part.join("=")).join("&");
  window.history.replaceState(null, "", `#${text}`);
}

function fromAddress() {
  const [, place] = addressParts().find(([name]) => name === "view") || [];
  const view = data.views[Number(place)];
  if (!view || view === agreeing(choices.length)[0]) return false;
  choices.forEach((box, at) => {
    box.value = view[box.id];
    offer(at + 1);
  });
  return true;
}

async function show() {
  const [view] = agreeing(choices.length);
  const links = document.getElementById("links");
  links.replaceChildren();
  pin.release();
  if (!view) {
    board.container.append(
      element("p", { textContent: "The capture has no TCP connection that could be drawn." }),
    );
    return;
  }
  const graphs = view.graphs.map((place) => withClock(data.graphs[place], view.start));
  for (const first of board.container.querySelectorAll(".first")) first.remove();
  for (const graph of graphs.filter(({ key }) => !FRAMED.includes(key))) {
    links.append(element("a", { href: `#${graph.key}`, textContent: graph.title }), " ");
  }
  const shown = board.show(graphs, view.span);
  offerFramed(graphs.filter(({ key }) => FRAMED.includes(key)));
  if (await shown) drawn.after = performance.now();
}

// One frame with several graphs of the same packets, of which one is seen at a time.
function offerFramed(graphs) {
  const kept = framed.value;
  framed.replaceChildren(
    ...graphs.map(({ key, title }) => element("option", { value: key, textContent: title })),
  );
  if (graphs.some(({ key }) => key === kept)) framed.value = kept;
  showFramed();
}

function showFramed() {
  for (const { value } of framed.options)
    document.getElementById(value).hidden = value !== framed.value;
}
framed.addEventListener("change", showFramed);

choices.forEach((box, at) =>
  box.addEventListener("change", () => {
    offer(at + 1);
    toAddress();
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
window.addEventListener("hashchange", () => {
  if (fromAddress()) window.tcplabGraphs.ready = show();
});
offer(0);
fromAddress();
window.tcplabGraphs.ready = show();
