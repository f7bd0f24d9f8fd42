{# A board: graphs above each other, those over time on one time axis. #}

class PlotBoard {
  constructor(container, options = {}) {
    const { name = "", looks = {}, series = SERIES, columns = null, narrowest, onPick } = options;
    this.onDraw = options.onDraw || null;
    Object.assign(this, { container, name, looks, series, columns, narrowest });
    this.plots = [];
    this.turn = 0;
    this.tooltip = new Tooltip(onPick || null);
    this.watcher = new IntersectionObserver((entries) => this.seen(entries), {
      rootMargin: "200px",
    });
    this.ruler = new ResizeObserver((entries) => this.resized(entries));
    this.listen();
  }

  listen() {
    const redraw = () => this.redraw();
    window.addEventListener("resize", redraw); // a page that is zoomed has other pixels
    darkness.addEventListener("change", redraw);
    window.addEventListener("beforeprint", () => {
      paper.forced = true;
      this.drawAll();
    });
    window.addEventListener("afterprint", () => {
      paper.forced = false;
      this.drawAll();
    });
    window.addEventListener("hashchange", () => this.fromAddress());
  }

  seen(entries) {
    for (const entry of entries) {
      const plot = this.plots.find((candidate) => candidate.box === entry.target);
      if (!plot) continue;
      plot.shown = entry.isIntersecting;
      if (plot.shown) plot.drawSoon();
    }
  }

  // To ask a box for its width while a page changes would lay the whole page out each time.
  resized(entries) {
    for (const entry of entries) {
      const plot = this.plots.find((candidate) => candidate.box === entry.target);
      const wide = entry.target.clientWidth;
      if (!plot || plot.wide === wide) continue;
      plot.wide = wide;
      plot.drawSoon();
    }
  }

  // Resolves when all is drawn, to false if something else was shown meanwhile.
  async show(graphs, span) {
    const turn = (this.turn += 1);
    this.watcher.disconnect();
    this.ruler.disconnect();
    for (const plot of this.plots) plot.section.remove();
    this.plots = graphs.map((graph) => new Plot(graph, this.looks, this.series));
    const fresh = this.plots.map((plot) => plot.section).filter((section) => !section.isConnected);
    this.container.append(...fresh);
    this.span = new SharedRange(...(span || [0, 1]), this.narrowest);
    this.span.onChange = () => this.toAddress();
    if (this.onPlayhead) this.setPlayhead(this.playhead ?? null);
    for (const plot of this.plots) {
      await plot.load(this.columns);
      if (turn !== this.turn) return false;
      this.place(plot);
    }
    this.fromAddress();
    return true;
  }

  place(plot) {
    plot.span = plot.graph.overTime ? this.span : ownSpan(plot);
    plot.span.plots.push(plot);
    plot.onDraw = this.onDraw;
    plot.wide = plot.box.clientWidth;
    plot.draw();
    listen(plot, this.tooltip);
    this.watcher.observe(plot.box);
    this.ruler.observe(plot.box);
  }

  update(key, make) {
    this.plots.find((plot) => plot.graph.key === key).update(make);
  }

  // Also of graphs that nobody sees yet, so that nothing moves when they are scrolled to.
  showLegends() {
    for (const plot of this.plots) plot.legend.show();
  }

  setSpan([left, right]) {
    const follows = this.span.isWhole;
    this.span.whole = [left, right];
    if (follows) [this.span.left, this.span.right] = [left, right];
    for (const plot of this.span.plots) plot.drawSoon();
  }

  zoom(left, right) {
    this.span.set(left, right);
  }

  // The time of a stage in all graphs over time; with `onPlayhead`, drags and clicks move it.
  setPlayhead(x) {
    this.playhead = x;
    if (!this.span) return;
    this.span.playhead = x;
    this.span.onPlayhead = this.onPlayhead;
    for (const plot of this.span.plots) plot.placePlayhead();
  }

  range() {
    return [this.span.left, this.span.right];
  }

  // How many marks are drawn, by graph and look.
  counts() {
    return Object.fromEntries(this.plots.map((plot) => [plot.graph.key, { ...plot.drawn }]));
  }

  redraw() {
    for (const plot of this.plots) {
      plot.drawSoon();
      plot.legend.redraw();
    }
  }

  drawAll() {
    for (const plot of this.plots) {
      plot.draw();
      plot.legend.redraw();
    }
  }

  // The zoom is part of the address, so that a link shows what was looked at.
  toAddress() {
    if (!this.name || !this.plots.some((plot) => plot.graph.overTime)) return;
    const kept = addressParts().filter(([name]) => name !== this.name);
    if (!this.span.isWhole) kept.push([this.name, this.range().join("..")]);
    const text = kept.map(([name, range]) => `${name}=${range}`).join("&");
    window.history.replaceState(null, "", `#${text}`);
  }

  fromAddress() {
    const [, text] = addressParts().find(([name]) => name === this.name) || [];
    const [left, right] = (text || "").split("..").map(Number);
    if (right > left) this.span.set(left, right);
  }
}

function addressParts() {
  const parts = window.location.hash.slice(1).split("&");
  return parts.map((part) => part.split("=")).filter((part) => part.length === 2);
}

function ownSpan(plot) {
  const axis = plot.graph.x;
  if (axis.range) return new SharedRange(...axis.range.map((at) => toScale(axis, at)));
  const extents = plot.layers.flatMap((layer) => [extentOf(layer.x), layer.end && extentOf(layer.end)]);
  const known = extents.filter(Boolean);
  const low = toScale(axis, Math.min(...known.map((extremes) => extremes[0])));
  const high = toScale(axis, Math.max(...known.map((extremes) => extremes[1])));
  const room = axis.ticks && axis.ticks.length ? (high - low) * 0.06 || 1 : 0;
  return new SharedRange(low - room, high + room);
}

// Okabe and Ito's, in an order that grey paper tells apart; marks and dashes differ too.
const SERIES = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"];
