{# A graph as a file: PNG, or SVG for a paper. Both are on white, with legend, at the present zoom. #}

const PICTURE_WIDTH = 900;
const LEGEND_LINE = 20;

// The part of a canvas' pen that plots use, writing SVG.
class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: "", clips: 0, open: 0, dash: [], saved: [] });
    Object.assign(this, { globalAlpha: 1, lineWidth: 1, font: FONT, lineJoin: "miter" });
    Object.assign(this, { textAlign: "left", textBaseline: "alphabetic" });
    this.ruler = document.createElement("canvas").getContext("2d");
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x, y) {
    this.path += `${this.path ? "L" : "M"}${round(x)} ${round(y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  rect(x, y, width, height) {
    this.path += `M${x} ${y}h${width}v${height}h${-width}Z`;
  }

  // Whole circles only, as marks are.
  arc(x, y, radius) {
    const [r, turn] = [round(radius), round(2 * radius)];
    this.path += `M${round(x - radius)} ${round(y)}a${r} ${r} 0 1 0 ${turn} 0a${r} ${r} 0 1 0 ${-turn} 0`;
  }

  stroke() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    const style = `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"`;
    this.draw(`<path d="${this.path}" ${style}${dash} stroke-linejoin="${this.lineJoin}"/>`);
  }

  fill() {
    this.draw(`<path d="${this.path}" fill="${this.fillStyle}" fill-opacity="${this.globalAlpha}"/>`);
  }

  fillRect(x, y, width, height) {
    const box = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
    this.draw(`<rect ${box} fill="${this.fillStyle}" fill-opacity="${this.globalAlpha}"/>`);
  }

  fillText(text, x, y, widest = Infinity) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    const base = { top: "hanging", middle: "central" }[this.textBaseline] || "auto";
    const length = this.measureText(text).width > widest ? ` textLength="${round(widest)}"` : "";
    const place = `x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" dominant-baseline="${base}"`;
    const font = this.font.replaceAll('"', "'");
    const words = element("span", { textContent: text }).innerHTML;
    this.draw(`<text ${place}${length} style="font: ${font}" fill="${this.fillStyle}">${words}</text>`);
  }

  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  save() {
    this.saved.push(this.open);
    this.open = 0;
  }

  clip() {
    this.clips += 1;
    this.open += 1;
    this.draw(`<clipPath id="clip${this.clips}"><path d="${this.path}"/></clipPath>`);
    this.draw(`<g clip-path="url(#clip${this.clips})">`);
  }

  restore() {
    this.draw("</g>".repeat(this.open));
    this.open = this.saved.pop();
    this.dash = [];
  }

  translate(x, y) {
    this.draw(`<g transform="translate(${x} ${y})">`);
    this.open += 1;
  }

  draw(part) {
    this.parts.push(part);
  }

  get text() {
    const size = `width="${this.width}" height="${this.height}"`;
    const box = `viewBox="0 0 ${this.width} ${this.height}"`;
    const parts = this.parts.join("\n");
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${box}>\n${parts}\n</svg>\n`;
  }
}

function round(value) {
  return Math.round(value * 100) / 100;
}

// Where each shown entry of the legend stands, line by line.
function legendPlaces(pen, plot, width) {
  const words = [...new Set(plot.layers.filter((layer) => !layer.hidden).map((layer) => layer.words))];
  let [x, row] = [MARGIN.left, 0];
  return words.filter(Boolean).map((entry) => {
    const wide = 50 + pen.measureText(entry).width;
    if (x + wide > width && x > MARGIN.left) [x, row] = [MARGIN.left, row + 1];
    const place = { entry, x, row };
    x += wide;
    return place;
  });
}

function drawWhole(plot, makePen) {
  return onPaper(() => {
    const frame = plot.frame(PICTURE_WIDTH);
    const ruler = document.createElement("canvas").getContext("2d");
    ruler.font = FONT;
    const places = legendPlaces(ruler, plot, PICTURE_WIDTH);
    const lines = places.length ? places[places.length - 1].row + 1 : 0;
    const tall = frame.height + MARGIN.top + MARGIN.bottom;
    const pen = makePen(PICTURE_WIDTH, tall + lines * LEGEND_LINE + 6);
    pen.fillStyle = theme().paper;
    pen.fillRect(0, 0, PICTURE_WIDTH, tall + lines * LEGEND_LINE + 6);
    plot.paint(pen, frame);
    for (const { entry, x, row } of places) {
      drawEntry(pen, plot, entry, x, tall + row * LEGEND_LINE);
    }
    return pen;
  });
}

function drawEntry(pen, plot, entry, x, y) {
  pen.save();
  pen.translate(x, y);
  const layers = plot.layers.filter(({ words }) => words === entry);
  drawSamples(pen, layers);
  pen.restore();
  Object.assign(pen, { font: FONT, fillStyle: theme().ink, textAlign: "left" });
  pen.textBaseline = "middle";
  pen.fillText(entry, x + 32, y + 7);
}

function svgOf(plot) {
  return drawWhole(plot, (width, height) => new SvgPen(width, height)).text;
}

function pngOf(plot) {
  const canvas = document.createElement("canvas");
  drawWhole(plot, (width, height) => {
    Object.assign(canvas, { width: 2 * width, height: 2 * height });
    const pen = canvas.getContext("2d");
    pen.scale(2, 2);
    return pen;
  });
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// The buttons below a graph.
function downloads(plot) {
  const row = element("div", { className: "plot-buttons" });
  const { key, title } = plot.graph;
  const made = {
    "Show all": () => showAll(plot),
    PNG: async () => save(await pngOf(plot), `${key}.png`),
    SVG: () => save(new Blob([svgOf(plot)], { type: "image/svg+xml" }), `${key}.svg`),
    CSV: () => save(new Blob([csvOf(plot)], { type: "text/csv" }), `${key}.csv`),
  };
  for (const [words, action] of Object.entries(made)) {
    const button = element("button", { type: "button", textContent: words });
    button.setAttribute("aria-label", `${words}: ${title}`);
    button.addEventListener("click", action);
    row.append(button);
  }
  return row;
}
