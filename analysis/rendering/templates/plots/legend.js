// The legend below a graph: an entry for all layers of the same words; a click hides or shows them.

const MOST_ENTRIES = 12;

class Legend {
  constructor(plot) {
    Object.assign(this, { plot, entries: new Map(), said: "" });
    this.box = element("div", { className: "legend" });
    this.show();
  }

  // An entry that stays as it is stays in the page, with the focus that it may have.
  show() {
    const groups = Map.groupBy(this.plot.layers, (layer) => layer.words);
    groups.delete("");
    const wanted = [...groups].map(([words, layers]) => [words, sampleText(layers)]);
    const said = JSON.stringify(wanted);
    if (said === this.said) return;
    this.said = said;
    const before = this.entries;
    this.entries = new Map();
    const shown = wanted.slice(0, MOST_ENTRIES).map((entry) => this.entry(before, ...entry));
    const rest = wanted.length - MOST_ENTRIES;
    if (rest > 0)
      shown.push(element("span", { className: "small", textContent: `and ${rest} more` }));
    this.box.replaceChildren(...shown);
  }

  redraw() {
    for (const { redraw } of this.entries.values()) redraw();
  }

  entry(before, words, sample) {
    const known = before.get(words);
    const entry = known && known.sample === sample ? known : { sample, ...this.made(words) };
    this.entries.set(words, entry);
    return entry.button;
  }

  made(words) {
    // The layers of now: those of a live page are others with each frame.
    const layers = () => this.plot.layers.filter((layer) => layer.words === words);
    const button = element("button", { type: "button" });
    const sample = element("canvas", { width: 52, height: 28 });
    const redraw = () => drawSamples(sample, layers());
    const press = () =>
      button.setAttribute("aria-pressed", String(layers().every(({ hidden }) => !hidden)));
    redraw();
    press();
    button.append(sample, element("span", { textContent: words }));
    button.addEventListener("click", () => {
      for (const layer of layers()) layer.hidden = !layer.hidden;
      press();
      this.plot.drawSoon();
    });
    return { button, redraw };
  }
}

// All that the sample of an entry shows, as text.
function sampleText(layers) {
  const looks = layers.map(({ shape, colour, dash, look }) =>
    JSON.stringify([shape, colour, dash, look]),
  );
  return [...new Set(looks)].join();
}

function drawSamples(canvas, layers) {
  const pen = canvas.getContext("2d");
  pen.reset();
  pen.scale(2, 2);
  for (const layer of layers) drawSample(pen, layer);
}
