{# Ticks, numbers as people write them, and the axes of a plot. #}

const PREFIXES = [
  ["G", 1e9],
  ["M", 1e6],
  ["k", 1e3],
  ["", 1],
];
const INSIDE = 8; // px left of an axis whose names stand inside
const FONT = "12px system-ui, sans-serif";

{# 1, 2 or 5 times a power of ten: the first that is at least `rough`. #}
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.9999);
}

function decimals(step) {
  return Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

{# A logarithmic axis is drawn by the logarithm of its values, which zoom and move by steps. #}
function toScale(axis, value) {
  return axis.log ? Math.log10(value) : value;
}

function fromScale(axis, place) {
  return axis.log ? 10 ** place : place;
}

{# Values and labels of ticks; `axis.scale` turns data into the unit. #}
function ticks(axis, low, high, count) {
  const named = axis.ticks || [];
  if (named.length) {
    return named
      .filter(([value]) => value >= low && value <= high)
      .map(([value, label]) => ({ value, label }));
  }
  const [prefix, size] = prefixFor(axis.unit, Math.max(Math.abs(low), Math.abs(high)) * axis.scale);
  const values = axis.log
    ? powers(low * axis.scale, high * axis.scale, count)
    : steps(low * axis.scale, high * axis.scale, count);
  const step = axis.log ? null : values[1] - values[0] || high - low;
  const marks = values.map((value) => ({
    value: value / axis.scale,
    label: number(value / size, step ? decimals(step / size) : null),
  }));
  marks.unit = prefix + axis.unit;
  return marks;
}

function steps(low, high, count) {
  const step = roundStep((high - low) / count);
  const values = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) {
    values.push(at * step || 0); // no -0
  }
  return values;
}

{# Powers of ten, with 2 and 5 times these if they are few. #}
function powers(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return steps(low, high, count);
  const factors = 3 * decades <= count * 1.5 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    if (power % every) continue;
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) values.push(value);
    }
  }
  return values;
}

const FORMATS = new Map(); // to make one takes longer than all else about an axis

{# Plain decimals, thousands apart; without `places` as many as the value has. #}
function number(value, places) {
  if (!FORMATS.has(places)) {
    const options =
      places === null
        ? { maximumSignificantDigits: 6 }
        : { minimumFractionDigits: places, maximumFractionDigits: places };
    FORMATS.set(places, new Intl.NumberFormat("en", options));
  }
  return FORMATS.get(places).format(value);
}

function prefixFor(unit, value) {
  if (unit !== "B" && unit !== "bit/s") return PREFIXES[3];
  return PREFIXES.find(([, size]) => value >= size) || PREFIXES[3];
}

{# One value as text, with the digits that the zoom can tell apart. #}
function valueText(axis, value, span) {
  if (axis.ticks && axis.ticks.length) return nearestName(axis, value);
  const shown = value * axis.scale;
  if (axis.unit === "B") return `${number(shown, 0)} bytes`;
  const [prefix, size] = prefixFor(axis.unit, Math.abs(shown));
  if (axis.log) return `${number(shown / size, null)} ${prefix}${axis.unit}`.trim();
  const digits = axis.unit === "bit/s" ? 2 : Math.min(9, decimals((span * axis.scale) / 1e5));
  return `${Number((shown / size).toFixed(digits))} ${prefix}${axis.unit}`.trim();
}

const measure = document.createElement("canvas").getContext("2d");

{# Names of rows stand next to the axis if they leave half of the width to the marks, else inside.
   Graphs over time keep one margin, so that a moment is below itself in all of them. #}
function leftMargin({ y: { ticks: named }, overTime }, whole) {
  if (overTime || !named || !named.length) return MARGIN.left;
  measure.font = FONT;
  const needed = Math.max(...named.map(([, name]) => measure.measureText(name).width)) + 16;
  if (needed <= MARGIN.left) return MARGIN.left;
  return needed < whole / 2 ? needed : INSIDE;
}

{# Marks may stand a little off their values. #}
function nearestName({ ticks: named, log }, value) {
  const away = ([tick]) => Math.abs(toScale({ log }, tick) - toScale({ log }, value));
  return named.reduce((best, tick) => (away(tick) < away(best) ? tick : best))[1];
}

function drawAxes(pen, graph, frame) {
  Object.assign(pen, { font: FONT, fillStyle: theme().ink, lineWidth: 1 });
  const across = drawTimes(pen, graph.x, frame);
  const up = drawHeights(pen, graph.y, frame);
  const bottom = frame.y + frame.height;
  pen.strokeStyle = theme().axis;
  line(pen, frame.x, frame.y, frame.x, bottom);
  line(pen, frame.x, bottom, frame.x + frame.width, bottom);
  pen.textAlign = "right";
  const whole = frame.x + frame.width;
  const title = axisTitle(graph.x, across.unit);
  pen.fillText(title, whole, bottom + 27, whole - 4);
  if (graph.x.clock) drawClock(pen, graph.x, frame, frame.width - pen.measureText(title).width - 12);
  pen.textAlign = "left";
  pen.fillText(axisTitle(graph.y, up.unit), 4, 10, whole - 4);
}

{# The ticks at the left; names that are longer than the margin stand inside: above their line, or
   if there are two, off the edges. #}
function drawHeights(pen, axis, frame) {
  if (frame.isEmpty) return { unit: "" }; // nothing is there to be measured
  const marks = ticks(axis, frame.low, frame.high, frame.height / 45);
  const inside = hasInside(pen, marks, frame);
  pen.textBaseline = "middle";
  pen.strokeStyle = theme().grid;
  let free = Infinity;
  for (const { value, label } of marks) {
    const y = frame.Y(value);
    line(pen, frame.x, y, frame.x + frame.width, y);
    if (!inside && free - y > 11) {
      pen.textAlign = "right";
      pen.fillText(label, frame.x - 6, y);
      free = y;
    }
  }
  return marks;
}

function hasInside(pen, marks, frame) {
  return marks.some(({ label }) => pen.measureText(label).width > frame.x - 8);
}

{# Names among the marks, drawn after these on a ground of their own: no line crosses a letter. #}
function drawInside(pen, axis, frame) {
  const marks = frame.isEmpty ? [] : ticks(axis, frame.low, frame.high, frame.height / 45);
  pen.font = FONT;
  if (!hasInside(pen, marks, frame)) return;
  const [x, room] = [frame.x + 6, frame.width - 6];
  Object.assign(pen, { textAlign: "left", textBaseline: "middle" });
  for (const { value, label } of marks) {
    const isBelow = marks.length === 2 && 2 * value <= frame.low + frame.high;
    const y = frame.Y(value) + (isBelow ? 9 : -11);
    pen.fillStyle = theme().paper;
    pen.fillRect(x - 2, y - 6, Math.min(pen.measureText(label).width, room) + 4, 12);
    pen.fillStyle = theme().ink;
    pen.fillText(label, x, y, room);
  }
}

{# The ticks below; labels that would touch are left out. #}
function drawTimes(pen, axis, frame) {
  const marks = ticks(axis, frame.left, frame.right, frame.width / 95);
  const bottom = frame.y + frame.height;
  Object.assign(pen, { textAlign: "center", textBaseline: "middle" });
  pen.strokeStyle = theme().grid;
  let free = -Infinity;
  for (const { value, label } of marks) {
    const x = frame.X(value);
    line(pen, x, frame.y, x, bottom);
    const half = pen.measureText(label).width / 2;
    const middle = Math.min(x, frame.x + frame.width + MARGIN.right - half);
    if (middle - half < free) continue;
    pen.fillText(label, middle, bottom + 11);
    free = middle + half + 8;
  }
  return marks;
}

function axisTitle(axis, unit) {
  return [axis.label, unit && `(${unit})`].filter(Boolean).join(" ");
}

function line(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
  pen.stroke();
}
