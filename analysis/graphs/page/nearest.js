// The mark under the pointer, and the text that describes it.

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

const SEARCH = {
  bars: nearestMark,
  dots: nearestMark,
  line: nearestMark,
  arrows: nearestMark,
  stairs: nearestStep,
  rate: nearestRate,
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
  const lines = [layer.words, `${preposition} ${valueText(graph.x, layer.x[at], span / 1000)}`];
  if (layer.shape === "bars") lines.push(bytesText(layer, at));
  else if (layer.shape === "arrows") lines.push(...travelText(layer, graph, at, span));
  else
    lines.push(
      `${graph.y.label} ${valueText(graph.y, layer.y[at], (frame.high - frame.low) / 100)}`,
    );
  for (const [name, values] of layer.fields)
    lines.push(`${name} ${values[at].toLocaleString("en")}`);
  if (layer.run > 1) lines.push(`stands for up to ${layer.run} neighbours`);
  return lines;
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
