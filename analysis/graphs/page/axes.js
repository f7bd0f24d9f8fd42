// Ticks and numbers as people write them.

const PREFIXES = [
  ["G", 1e9],
  ["M", 1e6],
  ["k", 1e3],
  ["", 1],
];

// 1, 2 or 5 times a power of ten: the first that is at least `rough`.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.9999);
}

function decimals(step) {
  return Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

// Values and labels of ticks; `axis.scale` turns data into the unit.
function ticks(axis, low, high, count) {
  if (axis.ticks.length) return axis.ticks.map(([value, label]) => ({ value, label }));
  const step = roundStep(((high - low) * axis.scale) / count);
  const [prefix, size] = prefixFor(axis.unit, Math.max(Math.abs(low), Math.abs(high)) * axis.scale);
  const marks = [];
  for (
    let at = Math.ceil((low * axis.scale) / step - 1e-9);
    at * step <= high * axis.scale * (1 + 1e-12);
    at += 1
  ) {
    marks.push({
      value: (at * step) / axis.scale,
      label: ((at * step) / size).toFixed(decimals(step / size)),
    });
  }
  marks.unit = prefix + axis.unit;
  return marks;
}

function prefixFor(unit, value) {
  if (unit !== "B" && unit !== "bit/s") return PREFIXES[3];
  return PREFIXES.find(([, size]) => value >= size) || PREFIXES[3];
}

// One value as text, with the digits that the zoom can tell apart.
function valueText(axis, value, span) {
  const shown = value * axis.scale;
  if (axis.unit === "B") return `${Math.round(shown).toLocaleString("en")} bytes`;
  const [prefix, size] = prefixFor(axis.unit, Math.abs(shown));
  const digits = axis.unit === "bit/s" ? 2 : Math.min(9, decimals((span * axis.scale) / 1e5));
  return `${(shown / size).toFixed(digits)} ${prefix}${axis.unit}`.trim();
}
