// One graph: a canvas with axes, a legend, and the marks in between.

const MARGIN = { left: 62, right: 14, top: 22, bottom: 34 };
const TALL = { time_sequence: 440, stevens: 340, ladder: 220, jain: 180 };
const FONT = "12px system-ui, sans-serif";

// A range of x that several graphs share; a double click brings back `whole`. Zooming ends at
// `narrowest`.
class SharedRange {
  constructor(left, right, narrowest = 1e-6) {
    this.narrowest = narrowest;
    this.whole = [left, right > left ? right : left + 1];
    [this.left, this.right] = this.whole;
    this.plots = [];
  }

  set(left, right) {
    const [least, most] = this.whole;
    const width = Math.min(
      Math.max(right - left, (most - least) * 1e-9, this.narrowest),
      (most - least) * 1.1,
    );
    this.left = Math.max(
      least - 0.05 * (most - least),
      Math.min(left, most + 0.05 * (most - least) - width),
    );
    this.right = this.left + width;
    for (const plot of this.plots) plot.drawSoon();
  }

  // Zooms by `factor` so that `around` stays where it is.
  zoom(factor, around) {
    this.set(around - (around - this.left) * factor, around + (this.right - around) * factor);
  }

  move(share) {
    const by = share * (this.right - this.left);
    this.set(this.left + by, this.right + by);
  }

  reset() {
    this.set(...this.whole);
  }
}

class Plot {
  constructor(graph, looks, series) {
    Object.assign(this, {
      graph,
      span: null,
      height: null,
      drawn: {},
      shown: true,
      waiting: false,
    });
    this.layers = graph.layers.map((layer, at) => withLook(layer, looks, series, at));
    this.build();
  }

  build() {
    this.section = element("section", { id: this.graph.key });
    this.section.append(element("h2", { textContent: this.graph.title }));
    this.box = element("div", { className: "plot" });
    this.canvas = element("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("aria-label", `${this.graph.title}. ${this.graph.caption}`);
    this.canvas.setAttribute("role", "img");
    this.cursor = element("div", { className: "cursor", hidden: true });
    this.ring = element("div", { className: "ring", hidden: true });
    this.box.append(this.canvas, this.cursor, this.ring);
    this.finest = element("p", { className: "small finest" });
    const caption = element("p", { className: "small", textContent: this.graph.caption });
    this.section.append(this.box, legend(this), caption, this.finest);
  }

  async load(columns) {
    for (const layer of this.layers) {
      for (const [name, place] of Object.entries(layer.columns))
        layer[name] = await columns.get(place);
      layer.fields = await Promise.all(
        layer.fields.map(async ([name, place]) => [name, await columns.get(place)]),
      );
      layer.reach = 0;
      if (layer.end)
        layer.end.forEach((end, at) => {
          layer.reach = Math.max(layer.reach, end - layer.x[at]);
        });
    }
    this.loaded = true;
  }

  // Draws before the next frame of the screen, once for any number of calls.
  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.shown) this.draw();
    });
  }

  frame() {
    const width = Math.max(60, this.box.clientWidth - MARGIN.left - MARGIN.right);
    const height = (TALL[this.graph.key] || 260) - MARGIN.top - MARGIN.bottom;
    const { left, right } = this.span;
    const [low, high] = this.height || this.fitted(left, right);
    const [x, y] = [MARGIN.left, MARGIN.top];
    const [across, up] = [width / (right - left), height / (high - low)];
    // Far outside values are held near the frame: canvases lose precision with huge coordinates.
    const X = (value) => x + Math.max(-1e5, Math.min(1e5, (value - left) * across));
    const Y = (value) => y + height - Math.max(-1e5, Math.min(1e5, (value - low) * up));
    // Fast: called for every mark.
    const column = (value) => Math.max(x - 2, Math.floor(x + (value - left) * across));
    const time = (px) => left + (px - x) / across;
    const value = (py) => low + (y + height - py) / up;
    return { x, y, width, height, left, right, low, high, X, Y, column, time, value, letters: [] };
  }

  fitted(left, right) {
    if (this.graph.y.ticks.length) return [-0.3, 2.3];
    const extents = (layers) =>
      layers
        .filter((layer) => !layer.hidden)
        .map((layer) => extent(layer, left, right))
        .filter(Boolean);
    let visibleExtents = extents(this.layers.filter((layer) => layer.look.fit));
    if (!visibleExtents.length) visibleExtents = extents(this.layers);
    if (this.graph.y.zero) visibleExtents.push([0, 0]);
    const low = Math.min(...visibleExtents.map((edges) => edges[0]));
    const high = Math.max(...visibleExtents.map((edges) => edges[1]));
    if (!(low <= high)) return [0, 1];
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [this.graph.y.zero ? 0 : low - room, high + room];
  }

  draw() {
    if (!this.loaded) return;
    const frame = (this.current = this.frame());
    const pen = this.pen(frame);
    drawAxes(pen, this.graph, frame);
    pen.save();
    pen.beginPath();
    pen.rect(frame.x, frame.y, frame.width, frame.height);
    pen.clip();
    this.drawn = {};
    const shown = this.layers.filter((layer) => !layer.hidden);
    for (const layer of shown) {
      Object.assign(pen, {
        strokeStyle: layer.colour,
        fillStyle: layer.colour,
        lineWidth: layer.look.width,
      });
      pen.lineJoin = "round";
      pen.setLineDash(layer.dash ? [5, 4] : []);
      this.drawn[layer.name] =
        (this.drawn[layer.name] || 0) + SHAPES[layer.shape](pen, layer, frame);
    }
    Object.assign(pen, { font: `bold ${FONT}`, textAlign: "center" });
    for (const layer of shown.reverse()) {
      // the last layers, the retransmissions, have the first choice of places
      pen.fillStyle = layer.colour;
      drawLetters(pen, layer, frame);
    }
    pen.restore();
    this.showFinest(frame);
  }

  pen(frame) {
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    const [width, height] = [this.box.clientWidth, frame.height + MARGIN.top + MARGIN.bottom];
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.canvas.style.height = `${height}px`;
    this.cursor.style.height = `${height - MARGIN.bottom}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    return pen;
  }

  // Tells the reader if the zoom could tell segments apart that were stored as one run.
  showFinest(frame) {
    const coarse = this.layers.filter((layer) => {
      const [from, to] = visible(layer, frame.left, frame.right);
      return !layer.hidden && layer.run > 1 && to - from < frame.width;
    });
    const most = Math.max(...coarse.map((layer) => layer.run));
    this.finest.textContent = coarse.length
      ? `Beyond this zoom, one mark stands for up to ${most} segments.`
      : "";
  }
}

function withLook(layer, looks, series, at) {
  const look = looks[layer.look];
  const several = layer.look === "connection";
  return {
    ...layer,
    look,
    name: layer.look,
    words: layer.words || look.words,
    hidden: false,
    colour: several ? series[at % series.length] : look.colour,
    dash: look.dash || (several && at >= series.length),
  };
}

function drawAxes(pen, graph, frame) {
  Object.assign(pen, {
    font: FONT,
    fillStyle: "#333",
    strokeStyle: "#dde2e7",
    lineWidth: 1,
    textAlign: "right",
  });
  pen.textBaseline = "middle";
  const up = ticks(graph.y, frame.low, frame.high, frame.height / 45);
  for (const { value, label } of up) {
    line(pen, frame.x, frame.Y(value), frame.x + frame.width, frame.Y(value));
    if (graph.y.ticks.length) drawName(pen, label, value, frame);
    else pen.fillText(label, frame.x - 6, frame.Y(value));
  }
  pen.textAlign = "center";
  const bottom = frame.y + frame.height;
  const across = ticks(graph.x, frame.left, frame.right, frame.width / 95);
  for (const { value, label } of across) {
    line(pen, frame.X(value), frame.y, frame.X(value), bottom);
    const half = pen.measureText(label).width / 2;
    pen.fillText(
      label,
      Math.min(frame.X(value), frame.x + frame.width + MARGIN.right - half),
      bottom + 10,
    );
  }
  pen.strokeStyle = "#666";
  line(pen, frame.x, frame.y, frame.x, bottom);
  line(pen, frame.x, bottom, frame.x + frame.width, bottom);
  pen.textAlign = "right";
  pen.fillText(axisTitle(graph.x, across.unit), frame.x + frame.width, bottom + 25);
  pen.textAlign = "left";
  pen.fillText(axisTitle(graph.y, up.unit), 4, 10);
}

function axisTitle(axis, unit) {
  return [axis.label, unit && `(${unit})`].filter(Boolean).join(" ");
}

// Hosts with ports are longer than the margin: they stand at their line, away from the middle.
function drawName(pen, label, value, frame) {
  const away = 2 * value > frame.low + frame.high ? -9 : 9;
  pen.textAlign = "left";
  pen.fillText(label, frame.x + 6, frame.Y(value) + away);
}

function line(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
  pen.stroke();
}

// One entry for all layers of the same words; a click hides or shows them.
function legend(plot) {
  const list = element("div", { className: "legend" });
  const words = [...new Set(plot.layers.map((layer) => layer.words))];
  for (const entry of words.slice(0, 12)) {
    const layers = plot.layers.filter((layer) => layer.words === entry);
    const button = element("button", { type: "button" });
    const sample = element("canvas", { width: 52, height: 28 });
    const pen = sample.getContext("2d");
    pen.scale(2, 2);
    drawSample(pen, layers[0]);
    button.setAttribute("aria-pressed", "true");
    button.append(sample, element("span", { textContent: entry }));
    button.addEventListener("click", () => {
      for (const layer of layers) layer.hidden = !layer.hidden;
      button.setAttribute("aria-pressed", String(!layers[0].hidden));
      plot.drawSoon();
    });
    list.append(button);
  }
  const rest = words.length - 12;
  if (rest > 0)
    list.append(element("span", { className: "small", textContent: `and ${rest} more` }));
  return list;
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}
