{# The mark under the pointer, and the text that describes it. #}

const NEAR = 14; // px

// The nearest mark of all shown layers as {layer, at, x, y, distance} in px, or null.
function nearest(layers, frame, x, y) {
  let best = null;
  for (const layer of layers) {
    const candidate = SEARCH[layer.shape](layer, frame, x, y);
    if (!candidate || candidate.distance > NEAR || (best && best.distance <= candidate.distance))
      continue;
    best = { layer, ...candidate };
  }
  return best;
}

function nearestMark(layer, frame, x, y) {
  const [from, to] = visible(layer, frame.time(x - NEAR), frame.time(x + NEAR));
  let best = null;
  for (let at = from; at < to; at += 1) {
    const distance = layer.top ? toStroke(layer, frame, at, x, y) : toPoint(layer, frame, at, x, y);
    if (!best || distance <= best.distance) best = { at, distance };
  }
  if (best)
    Object.assign(best, {
      x: frame.X(layer.x[best.at]),
      y: frame.Y((layer.top || layer.y)[best.at]),
    });
  return best;
}

function toPoint(layer, frame, at, x, y) {
  return Math.hypot(frame.X(layer.x[at]) - x, frame.Y(layer.y[at]) - y);
}

function toStroke(layer, frame, at, x, y) {
  const [x1, y1] = [frame.X(layer.x[at]), frame.Y(layer.y[at])];
  const [dx, dy] = [
    frame.X(layer.end ? layer.end[at] : layer.x[at]) - x1,
    frame.Y(layer.top[at]) - y1,
  ];
  const along = Math.max(
    0,
    Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)),
  );
  return Math.hypot(x1 + along * dx - x, y1 + along * dy - y);
}

// The last step at or before the pointer.
function nearestStep(layer, frame, x, y) {
  const at = lowerBound(layer.x, frame.time(x) + 1e-9) - 1;
  if (at < 0) return null;
  const top = frame.Y(layer.y[at]);
  return { at, x: Math.max(frame.x, frame.X(layer.x[at])), y: top, distance: Math.abs(top - y) };
}

function nearestRate(layer, frame, x, y) {
  const { start, bin, values } = rates(layer, frame.left, frame.right);
  const at = Math.floor((frame.time(x) - start) / bin);
  if (!(at in values)) return null;
  const top = frame.Y(values[at]);
  return { at, x, y: top, distance: Math.abs(top - y), rate: values[at], bin };
}

// A box or a cell is under the pointer, or it is not.
function nearestArea(layer, frame, x, y) {
  for (let at = 0; at < layer.x.length; at += 1) {
    const [left, right, low, high] = layer.end
      ? [layer.x[at], layer.end[at], layer.y[at], layer.top[at]]
      : [layer.x[at] - 0.5, layer.x[at] + 0.5, layer.y[at] - 0.5, layer.y[at] + 0.5];
    const isIn = x >= frame.X(left) && x <= frame.X(right);
    if (isIn && y >= frame.Y(high) && y <= frame.Y(low)) return { at, x, y, distance: 1 };
  }
  return null;
}

function nearestMoment(layer, frame, x, y) {
  if (!layer.dash && y > frame.y + 24) return null;
  const [from, to] = visible(layer, frame.time(x - NEAR), frame.time(x + NEAR));
  let best = null;
  for (let at = from; at < to; at += 1) {
    const distance = Math.abs(frame.X(layer.x[at]) - x);
    if (!best || distance <= best.distance) best = { at, distance };
  }
  return best && { ...best, x: frame.X(layer.x[best.at]), y: frame.y + 5 };
}

function nearestLevel(layer, frame, x, y) {
  const top = frame.Y(layer.y[0]);
  return { at: 0, x, y: top, distance: Math.abs(top - y) };
}

const SEARCH = {
  bars: nearestMark,
  dots: nearestMark,
  line: nearestMark,
  arrows: nearestMark,
  stairs: nearestStep,
  rate: nearestRate,
  band: () => null,
  level: nearestLevel,
  moments: nearestMoment,
  boxes: nearestArea,
};

// The lines of text on a mark, which `nearest` gives.
function description(mark, graph, frame) {
  const { layer, at } = mark;
  const span = frame.right - frame.left;
  if (layer.shape === "rate") {
    const rate = valueText(graph.y, mark.rate, span);
    const [time, duration] = [
      valueText(graph.x, frame.time(mark.x), span),
      valueText(graph.x, mark.bin, mark.bin),
    ];
    return [layer.words, rate, `at ${time}, over ${duration}`];
  }
  const preposition = graph.overTime ? "at" : graph.x.label;
  const clock = graph.x.clock ? ` (${utcText(graph.x, layer.x[at], span / 1000)})` : "";
  const place = `${preposition} ${valueText(graph.x, layer.x[at], span / 1000)}${clock}`;
  const lines = layer.shape === "level" || layer.end ? [layer.words] : [layer.words, place];
  if (layer.notes) lines.push(layer.notes[at]);
  if (layer.shape === "bars") lines.push(...barText(layer, graph, at, place));
  else if (layer.shape === "arrows") lines.push(place, ...travelText(layer, graph, at, span));
  else if (layer.shape === "boxes") lines.push(valueText(graph.y, layer.top[at], frame.high / 100));
  else if (layer.shape === "moments") return lines;
  else
    lines.push(
      `${graph.y.label} ${valueText(graph.y, layer.y[at], (frame.high - frame.low) / 100)}`.trim(),
    );
  for (const [name, values] of layer.fields)
    lines.push(`${name} ${values[at].toLocaleString("en")}`);
  if (layer.run > 1) lines.push(`stands for up to ${layer.run} neighbours`);
  return lines;
}

function barText(layer, graph, at, place) {
  const where = layer.end ? [place] : [];
  if (graph.y.unit === "B") return [...where, bytesText(layer, at)];
  const ends = [layer.y[at], layer.top[at]].map((end) => valueText(graph.y, end, end / 100));
  return [...where, ends[0] === ends[1] ? ends[0] : ends.join(" to ")];
}

function bytesText(layer, at) {
  const [low, high] = [layer.y[at], layer.top[at]];
  const [from, to, size] = [low, high, high - low].map((bytes) => bytes.toLocaleString("en"));
  return `bytes ${from} to ${to} (${size})`;
}

function travelText(layer, graph, at, span) {
  const duration = layer.end[at] - layer.x[at];
  return duration > 0 ? [`arrived after ${valueText(graph.x, duration, span / 1000)}`] : [];
}
