{# The legend below a graph: an entry for all layers of the same words; a click hides or shows them.
   Entries of lines have the value at the crosshair. #}

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

  // The values of all lines at a place of the x axis; null clears them.
  showValues(x) {
    for (const [words, { value }] of this.entries) {
      const layer = this.plot.layers.find((one) => one.words === words && VALUES[one.shape]);
      const is = layer && x !== null && !layer.hidden ? valueAt(layer, this.plot, x) : "";
      if (value.textContent !== is) value.textContent = is;
    }
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
    const redraw = () => {
      const pen = sample.getContext("2d");
      pen.reset();
      pen.scale(2, 2);
      drawSamples(pen, layers());
    };
    const press = () =>
      button.setAttribute("aria-pressed", String(layers().every(({ hidden }) => !hidden)));
    redraw();
    press();
    const isValued = layers().some(({ shape }) => VALUES[shape]);
    const value = element("span", { className: "value", hidden: !isValued });
    button.append(sample, element("span", { textContent: words }), value);
    button.addEventListener("click", () => {
      for (const layer of layers()) layer.hidden = !layer.hidden;
      press();
      this.plot.drawSoon();
    });
    return { button, redraw, value };
  }
}

// The value of a layer at x, in its own numbers; undefined where it has none.
const VALUES = {
  stairs: (layer, x) => layer.y[lowerBound(layer.x, x + Math.abs(x) * 1e-12) - 1],
  line: (layer, x) => {
    const at = lowerBound(layer.x, x);
    if (at === 0 || at >= layer.x.length) return layer.x[at] === x ? layer.y[at] : undefined;
    const [left, right] = [layer.x[at - 1], layer.x[at]];
    return layer.y[at - 1] + ((x - left) / (right - left)) * (layer.y[at] - layer.y[at - 1]);
  },
  rate: (layer, x, frame) => {
    const { start, bin, values } = rates(layer, frame.left, frame.right);
    return values[Math.floor((x - start) / bin)];
  },
};

function valueAt(layer, plot, x) {
  const frame = plot.current;
  const value = frame && layer.x.length ? VALUES[layer.shape](layer, x, frame) : undefined;
  if (value === undefined || Number.isNaN(value)) return "";
  const { y } = plot.graph;
  if (y.unit === "B") return byteText(value * y.scale);
  return ` ${valueText(y, Number(value.toPrecision(DIGITS)), Math.abs(frame.high - frame.low) / 100)}`;
}

const DIGITS = 4;

function byteText(count) {
  const [prefix, size] = prefixFor("B", Math.abs(count));
  return ` ${Number((count / size).toPrecision(3))} ${prefix}B`;
}

// All that the sample of an entry shows, as text.
function sampleText(layers) {
  const looks = layers.map(({ shape, colour, dash, look }) =>
    JSON.stringify([shape, colour, dash, look]),
  );
  return [...new Set(looks)].join();
}

const MOST_SAMPLES = 3;

// Layers of one shape and several colours stand next to each other, the first few.
function drawSamples(pen, layers) {
  for (const alike of Map.groupBy(layers, ({ shape }) => shape).values()) {
    const colours = [...Map.groupBy(alike, ({ colour }) => colour).values()].slice(0, MOST_SAMPLES);
    const wide = 26 / colours.length;
    colours.forEach((ones, at) => {
      pen.save();
      pen.beginPath();
      pen.rect(at * wide, 0, wide, 14);
      pen.clip();
      pen.translate((at + 0.5) * wide - 13, 0);
      for (const layer of ones) drawSample(pen, layer);
      pen.restore();
    });
  }
}
