// A mark that a click keeps in view: its facts below its graph, and its moment in every graph.

class Pin {
  constructor() {
    this.box = element("div", { className: "pin" });
    this.box.setAttribute("role", "status");
    this.facts = element("p");
    const button = element("button", { type: "button", textContent: "Unpin" });
    button.addEventListener("click", () => this.release());
    this.box.append(this.facts, button);
    this.lines = new Map();
    this.plot = this.at = null;
  }

  // The same mark again takes the pin away.
  toggle(mark, plot) {
    const facts = description(mark, plot.graph, plot.current).join("\n");
    const isSame = this.plot === plot && this.facts.textContent === facts;
    this.release();
    if (isSame) return;
    this.facts.textContent = facts;
    this.plot = plot;
    this.at = mark.layer.shape === "rate" ? plot.current.time(mark.x) : mark.layer.x[mark.at];
    plot.box.after(this.box);
    for (const other of plot.span.plots) this.draw(other, other.current);
  }

  release() {
    this.box.remove();
    for (const line of this.lines.values()) line.remove();
    this.lines.clear();
    this.plot = this.at = null;
  }

  // The line follows the zoom.
  draw(plot, frame) {
    if (!frame || !this.plot || plot.span !== this.plot.span) return;
    if (!this.lines.has(plot)) {
      this.lines.set(plot, element("div", { className: "cursor pinned" }));
      plot.box.append(this.lines.get(plot));
    }
    const [line, x] = [this.lines.get(plot), frame.X(this.at)];
    line.hidden = x < frame.x || x > frame.x + frame.width;
    Object.assign(line.style, { left: `${x}px`, height: `${frame.y + frame.height}px` });
  }
}
