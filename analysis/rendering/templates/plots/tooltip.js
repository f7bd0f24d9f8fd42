{# What the mark under the pointer is, or the one that keys went to; a screen reader says it too. #}

class Tooltip {
  constructor(onPick) {
    this.box = element("div", { className: "plot-tooltip", hidden: true });
    this.box.setAttribute("role", "status");
    this.onPick = onPick;
    this.mark = null;
    document.body.append(this.box);
  }

  show(plot, event) {
    if (!plot.current) return;
    const shown = plot.layers.filter((layer) => !layer.hidden && layer.x.length);
    const [x, y] = plot.point(event);
    this.line(plot, x);
    this.say(plot, nearest(shown.reverse(), plot.current, x, y));
  }

  say(plot, mark) {
    this.mark = mark;
    plot.ring.hidden = this.box.hidden = !mark;
    if (!mark) return;
    const [across, down] = [mark.x * plot.size, mark.y * plot.size];
    Object.assign(plot.ring.style, { left: `${across}px`, top: `${down}px` });
    this.box.textContent = description(mark, plot.graph, plot.current).join("\n");
    const canvas = plot.canvas.getBoundingClientRect();
    const [x, y] = [canvas.left + across, canvas.top + down];
    const isBeside = x + 16 + this.box.offsetWidth < window.innerWidth;
    const left = isBeside ? x + 16 : x - this.box.offsetWidth - 16;
    const lowest = window.innerHeight - this.box.offsetHeight - 4;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.max(4, Math.min(y + 16, lowest))}px`;
  }

  // To the next mark in time, or the one before: of the layers that can be read one by one.
  step(plot, way) {
    const frame = plot.current;
    const from = plot.reading ?? (way > 0 ? frame.left : frame.right);
    let best = null;
    for (const layer of plot.layers) {
      if (layer.hidden || ["band", "rate", "level"].includes(layer.shape)) continue;
      const at = way > 0 ? lowerBound(layer.x, from * (1 + 1e-12) + 1e-9) : lowerBound(layer.x, from) - 1;
      if (!(at in layer.x) || layer.x[at] > frame.right || layer.x[at] < frame.left) continue;
      if (best && way * (best.layer.x[best.at] - layer.x[at]) <= 0) continue;
      best = { layer, at };
    }
    if (!best) return;
    plot.reading = best.layer.x[best.at];
    const heights = best.layer.top || best.layer.y;
    const y = best.layer.shape === "moments" ? frame.y + 5 : frame.Y(heights[best.at]);
    const mark = { ...best, x: frame.X(plot.reading), y };
    this.line(plot, mark.x);
    this.say(plot, mark);
  }

  pick(plot) {
    if (this.mark && this.onPick) this.onPick(this.mark, plot);
  }

  // The same moment in every graph over time.
  line(plot, x) {
    const place = plot.current.time(x);
    for (const other of plot.span.plots) {
      other.legend.showValues(place);
      const left = leftMargin(other.graph, other.width);
      other.cursor.hidden = x < left || x > other.width - MARGIN.right;
      other.cursor.style.left = `${x * other.size}px`;
    }
  }

  hide(plot) {
    this.box.hidden = plot.ring.hidden = true;
    plot.reading = this.mark = null;
    for (const other of plot.span.plots) {
      other.cursor.hidden = true;
      other.legend.showValues(other.span.playhead ?? null);
    }
  }
}
