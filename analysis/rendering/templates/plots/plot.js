{# One graph: a canvas with axes, a legend, and the marks in between. A `size` above 1 magnifies
   it, for a projector; a frame's pixels are those before. #}

const MARGIN = { left: 62, right: 14, top: 22, bottom: 36 };
const HEIGHT = 260;
{# Pixels of a plot on paper: what an A4 page holds at the size of its text. #}
const PAPER_WIDTH = 700;
const PAPER_HEIGHT = 220;

{# A range of x that several graphs share; a double click brings back `whole`. Zooming ends at
   `narrowest`. Of a logarithmic axis it is of logarithms. #}
class SharedRange {
  constructor(left, right, narrowest = 1e-6) {
    this.narrowest = narrowest;
    this.whole = [left, right > left ? right : left + 1];
    [this.left, this.right] = this.whole;
    this.plots = [];
    this.onChange = null;
  }

  get isWhole() {
    return this.left === this.whole[0] && this.right === this.whole[1];
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
    if (this.onChange) this.onChange();
  }

  {# Zooms by `factor` so that `around` stays where it is. #}
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
    const [x, y] = [graph.x, graph.y].map((axis) => ({ label: "", unit: "", scale: 1, ...axis }));
    Object.assign(this, {
      graph: { ...graph, x, y },
      looks,
      series,
      span: null,
      height: null,
      drawn: {},
      shown: true,
      waiting: false,
      reading: null,
      ready: [],
      make: null,
      wide: 0,
      size: graph.size || 1,
    });
    this.take(graph.layers);
    this.build();
  }

  {# Layers that are to be made are made when they are first asked for, which may be never. #}
  get layers() {
    if (this.make) {
      this.take(this.make());
      this.ready.forEach(setReach);
    }
    return this.ready;
  }

  take(layers) {
    const hidden = new Set(this.ready.filter((old) => old.hidden).map((old) => old.words));
    this.make = null;
    this.ready = layers.map((layer, at) => withLook(layer, this.looks, this.series, at));
    for (const layer of this.ready) layer.hidden = hidden.has(layer.words);
  }

  {# The canvas stands in the page's own section of that id if there is one, else in a new one. #}
  build() {
    const { key, title, caption, y } = this.graph;
    const made = document.getElementById(key);
    this.section = made || element("section", { id: key, className: "graph" });
    this.box = made ? made.querySelector(".plot") : element("div", { className: "plot" });
    this.canvas = element("canvas", { tabIndex: 0 });
    const name = title || y.label || document.title;
    this.canvas.setAttribute("aria-label", [name, caption].filter(Boolean).join(". "));
    this.canvas.setAttribute("role", "img");
    this.cursor = element("div", { className: "cursor", hidden: true });
    this.ring = element("div", { className: "ring", hidden: true });
    this.playhead = element("div", { className: "playhead", hidden: true });
    this.box.append(this.canvas, this.cursor, this.ring, this.playhead);
    this.finest = element("p", { className: "small finest", hidden: true });
    this.legend = new Legend(this);
    if (!made) {
      this.section.append(element(this.graph.heading || "h2", { textContent: title }), this.box);
    }
    this.section.append(this.legend.box);
    if (!made) this.section.append(element("p", { className: "small", textContent: caption }));
    this.section.append(this.finest, downloads(this));
  }

  {# Other layers in the same graph, as a live page has them; a zoom stays as it is. #}
  update(make) {
    this.make = make;
    this.drawSoon();
  }

  {# Columns that are places in `columns` are decoded; typed columns are taken as they are. #}
  async load(columns) {
    for (const layer of this.layers) {
      for (const [name, place] of Object.entries(layer.columns || {}))
        layer[name] = await columns.get(place);
      layer.fields = await Promise.all(
        (layer.fields || []).map(async ([name, values]) => [
          name,
          typeof values === "number" ? await columns.get(values) : values,
        ]),
      );
      setReach(layer);
    }
    this.loaded = true;
  }

  {# Draws before the next frame of the screen, once for any number of calls. #}
  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.shown) this.draw();
    });
  }

  get width() {
    if (!paper.forced) return this.wide / this.size;
    if (this.section.closest(".answer .many")) return PAPER_WIDTH / 3;
    return this.section.closest(".answer, .many") ? PAPER_WIDTH / 2 : PAPER_WIDTH;
  }

  {# A page of paper holds three graphs with their legends. #}
  get tall() {
    const tall = this.graph.height || HEIGHT;
    return paper.forced ? Math.min(tall, PAPER_HEIGHT) : tall;
  }

  point(event) {
    return [event.offsetX / this.size, event.offsetY / this.size];
  }

  {# Of a graph that opens with a part, that part until the shared axis is zoomed. #}
  get seen() {
    return (this.span.isWhole && this.graph.opens) || [this.span.left, this.span.right];
  }

  {# What is seen, and where: places of a canvas that is `whole` pixels wide. #}
  frame(whole = this.width) {
    const x = leftMargin(this.graph, whole);
    const width = Math.max(60, whole - x - MARGIN.right);
    const height = this.tall - MARGIN.top - MARGIN.bottom;
    const { x: axisX, y: axisY } = this.graph;
    const seen = this.seen;
    const [left, right] = seen.map((at) => fromScale(axisX, at));
    const [low, high] = this.height || this.fitted(left, right);
    const [bottom, top] = [toScale(axisY, low), toScale(axisY, high)];
    const y = MARGIN.top;
    const across = width / (seen[1] - seen[0]);
    const up = height / (top - bottom);
    {# Far outside values are held near the frame: canvases lose precision with huge coordinates. #}
    const held = (pixels) => Math.max(-1e5, Math.min(1e5, pixels));
    const X = (value) => x + held((toScale(axisX, value) - seen[0]) * across);
    const Y = (value) => y + height - held((toScale(axisY, value) - bottom) * up);
    {# Fast: called for every mark. #}
    const column = (value) =>
      Math.max(x - 2, Math.floor(x + (toScale(axisX, value) - seen[0]) * across));
    const place = (px) => seen[0] + (px - x) / across;
    const time = (px) => fromScale(axisX, place(px));
    const value = (py) => fromScale(axisY, bottom + (y + height - py) / up);
    const size = { x, y, width, height, left, right, low, high };
    const isEmpty = !this.layers.length && !this.height;
    return { ...size, X, Y, column, place, time, value, isEmpty, letters: [] };
  }

  fitted(left, right) {
    const axis = this.graph.y;
    const isFixed = !this.graph.overTime || (axis.ticks || []).length || this.span.isWhole;
    if (axis.range && isFixed) return axis.range;
    const extents = (layers) =>
      layers
        .filter((layer) => !layer.hidden)
        .map((layer) => extent(layer, left, right))
        .filter(Boolean);
    let visibleExtents = extents(this.layers.filter((layer) => layer.look.fit !== false));
    if (!visibleExtents.length) visibleExtents = extents(this.layers);
    if (axis.zero) visibleExtents.push([0, 0]);
    const low = Math.min(...visibleExtents.map((edges) => edges[0]));
    const high = Math.max(...visibleExtents.map((edges) => edges[1]));
    if (!(low <= high)) return axis.log ? [1, 10] : [0, 1];
    if (axis.log) return [Math.max(low, high * 1e-12) / 1.3, high * 1.3];
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
  }

  draw() {
    if (!this.loaded || !this.span) return;
    this.legend.show();
    const frame = (this.current = this.frame());
    this.paint(this.pen(frame), frame);
    for (const first of this.section.querySelectorAll(".first")) first.remove();
    this.showFinest(frame);
    this.placePlayhead();
    if (this.onDraw) this.onDraw(this, frame);
  }

  {# Where the stage's time is, if the zoom shows it. #}
  placePlayhead() {
    const { current: frame, span } = this;
    const at = span && span.playhead;
    const isSeen = frame && at !== null && at !== undefined && at >= frame.left && at <= frame.right;
    this.playhead.hidden = !isSeen || !this.graph.overTime;
    if (this.playhead.hidden) return;
    if (this.cursor.hidden) this.legend.showValues(at);
    Object.assign(this.playhead.style, {
      left: `${frame.X(at) * this.size}px`,
      top: `${(frame.y - 6) * this.size}px`, // below the axis's title
      height: `${(frame.height + 6) * this.size}px`,
    });
  }

  paint(pen, frame) {
    drawAxes(pen, this.graph, frame);
    pen.save();
    pen.beginPath();
    pen.rect(frame.x, frame.y, frame.width, frame.height);
    pen.clip();
    this.drawn = {};
    const shown = this.layers.filter((layer) => !layer.hidden && layer.x.length);
    for (const layer of shown) {
      const colour = coloured(layer.colour);
      Object.assign(pen, { strokeStyle: colour, fillStyle: colour, lineWidth: layer.look.width });
      pen.lineJoin = "round";
      pen.setLineDash(layer.dash || []);
      this.drawn[layer.name] =
        (this.drawn[layer.name] || 0) + SHAPES[layer.shape](pen, layer, frame);
    }
    Object.assign(pen, { font: `bold ${FONT}`, textAlign: "center" });
    for (const layer of shown.reverse()) {
      {# the last layers, the retransmissions, have the first choice of places #}
      pen.fillStyle = coloured(layer.colour);
      drawLetters(pen, layer, frame);
    }
    pen.restore();
    drawInside(pen, this.graph.y, frame);
  }

  pen(frame) {
    const ratio = paper.forced ? 2 : this.size * Math.max(1, window.devicePixelRatio || 1);
    const [width, height] = [this.width, frame.height + MARGIN.top + MARGIN.bottom];
    const [across, down] = [width * ratio, height * ratio].map(Math.floor);
    const pen = this.canvas.getContext("2d");
    pen.reset();
    {# A canvas that gets a size, even its own, gets new memory. #}
    if (this.canvas.width !== across || this.canvas.height !== down) {
      Object.assign(this.canvas, { width: across, height: down });
      this.canvas.style.height = `${height * this.size}px`;
      this.cursor.style.height = `${(height - MARGIN.bottom) * this.size}px`;
    }
    pen.scale(ratio, ratio);
    return pen;
  }

  {# Tells the reader if the zoom could tell segments apart that were stored as one run. #}
  showFinest(frame) {
    const coarse = this.layers.filter((layer) => {
      if (layer.hidden || !(layer.run > 1)) return false;
      const [from, to] = visible(layer, frame.left, frame.right);
      return to - from < frame.width;
    });
    const most = Math.max(...coarse.map((layer) => layer.run));
    this.finest.hidden = !coarse.length;
    this.finest.textContent = coarse.length
      ? `Beyond this zoom, one mark stands for up to ${most} segments.`
      : "";
  }
}

const PLAIN_LOOK = { words: "", colour: "#0072B2", mark: "", letter: "", fit: true, width: 1.5 };
{# Series differ in dash too, for eyes and paper without colours; a dashed look is dotted. #}
const DASHES = [null, [9, 4], [4, 3], [9, 3, 2, 3]];
const DOTTED = [2, 3];

function withLook(layer, looks, series, at) {
  const look = { ...PLAIN_LOOK, ...(typeof layer.look === "object" ? layer.look : looks[layer.look]) };
  const number = layer.series ?? (layer.look === "connection" ? at : null);
  const isAlone = number === null || layer.shape === "bars" || layer.shape === "dots";
  return {
    fields: [],
    ...layer,
    look,
    name: layer.name || layer.look,
    words: layer.words || look.words,
    hidden: false,
    colour: number === null ? look.colour : series[number % series.length],
    dash: Array.isArray(look.dash) ? look.dash : look.dash ? DOTTED : isAlone ? null : DASHES[number % DASHES.length],
  };
}

{# How far a mark goes beyond its x at most. #}
function setReach(layer) {
  layer.reach = 0;
  if (!layer.end) return;
  layer.end.forEach((end, at) => {
    layer.reach = Math.max(layer.reach, end - layer.x[at]);
  });
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}
