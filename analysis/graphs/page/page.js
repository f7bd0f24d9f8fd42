// The page: the chosen connection, and its graphs above each other on one time axis.

const data = JSON.parse(document.getElementById("data").textContent);
const columns = new ColumnStore(data.columns);
// As many ticks of the capture's clock are seen at the closest zoom.
const NARROWEST = 20;
const state = { plots: [], span: null, drawnAfter: null, turn: 0 };
const choices = ["capture", "connection", "direction"].map((name) => document.getElementById(name));

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const plot = state.plots.find((candidate) => candidate.box === entry.target);
      if (!plot) continue;
      plot.shown = entry.isIntersecting;
      if (plot.shown) plot.drawSoon();
    }
  },
  { rootMargin: "200px" },
);

const tooltip = {
  box: document.getElementById("tooltip"),

  show(plot, event) {
    if (!plot.current) return;
    const shown = plot.layers.filter((layer) => !layer.hidden);
    const mark = nearest(shown.reverse(), plot.current, event.offsetX, event.offsetY);
    this.line(plot, event.offsetX);
    plot.ring.hidden = this.box.hidden = !mark;
    if (!mark) return;
    Object.assign(plot.ring.style, { left: `${mark.x}px`, top: `${mark.y}px` });
    this.box.textContent = description(mark, plot.graph, plot.current).join("\n");
    const beside = event.clientX + 16 + this.box.offsetWidth < window.innerWidth;
    const left = beside ? event.clientX + 16 : event.clientX - this.box.offsetWidth - 16;
    const lowest = window.innerHeight - this.box.offsetHeight - 4;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.min(event.clientY + 16, lowest)}px`;
  },

  // The same moment in every graph over time.
  line(plot, x) {
    for (const other of plot.span.plots) {
      other.cursor.hidden = x < MARGIN.left || x > other.box.clientWidth - MARGIN.right;
      other.cursor.style.left = `${x}px`;
    }
  },

  hide(plot) {
    this.box.hidden = plot.ring.hidden = true;
    for (const other of plot.span.plots) other.cursor.hidden = true;
  },
};

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
  const turn = (state.turn += 1);
  const main = document.getElementById("graphs");
  const links = document.getElementById("links");
  watcher.disconnect();
  main.replaceChildren();
  links.replaceChildren();
  state.plots = [];
  if (!view) {
    main.append(
      element("p", { textContent: "The capture has no TCP connection that could be drawn." }),
    );
    return;
  }
  state.span = new SharedRange(...view.span, NARROWEST * data.resolution);
  state.plots = view.graphs.map((place) => new Plot(data.graphs[place], data.looks, data.series));
  for (const plot of state.plots) {
    main.append(plot.section);
    links.append(element("a", { href: `#${plot.graph.key}`, textContent: plot.graph.title }), " ");
  }
  for (const plot of state.plots) {
    await prepare(plot);
    if (turn !== state.turn) return; // another connection was chosen meanwhile
  }
  state.drawnAfter = performance.now();
}

async function prepare(plot) {
  await plot.load(columns);
  plot.span = plot.graph.overTime ? state.span : ownSpan(plot);
  plot.span.plots.push(plot);
  plot.draw();
  listen(plot, tooltip);
  watcher.observe(plot.box);
}

function ownSpan(plot) {
  const extents = plot.layers.map((layer) => extentOf(layer.x)).filter(Boolean);
  return new SharedRange(
    Math.min(...extents.map(([low]) => low)),
    Math.max(...extents.map(([, high]) => high)),
  );
}

choices.forEach((box, at) =>
  box.addEventListener("change", () => {
    offer(at + 1);
    window.tcplabGraphs.ready = show();
  }),
);
window.addEventListener("resize", () => state.plots.forEach((plot) => plot.drawSoon()));
window.addEventListener("beforeprint", () => state.plots.forEach((plot) => plot.draw()));

// For tests and for the curious: what is drawn now, by graph and look, and the shared range in ns.
window.tcplabGraphs = {
  ready: null,
  counts: () => Object.fromEntries(state.plots.map((plot) => [plot.graph.key, { ...plot.drawn }])),
  range: () => [state.span.left, state.span.right],
  zoom: (left, right) => state.span.set(left, right),
  drawAll: () => state.plots.forEach((plot) => plot.draw()),
  drawnAfter: () => state.drawnAfter,
};
offer(0);
window.tcplabGraphs.ready = show();
