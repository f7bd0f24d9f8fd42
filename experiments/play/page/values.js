// Quantities with units, as sliders know them: places from 0 to 1000 on a scale that suits eyes.

const STEPS = 1000;

const UNITS = {
  rate: [["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3], ["bit", 1]],
  time: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
  share: [["%", 1]],
  count: [["", 1]],
};
const SPELLINGS = { sec: "s", packets: "", packet: "", p: "" };

// The number that a text is in the base unit (bit/s, s, %, 1), or NaN. The server has the last word.
export function parsed(kind, text) {
  const match = /^\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-z%]*)(?:\/s)?\s*$/i.exec(text);
  if (!match) return NaN;
  const unit = match[2].toLowerCase();
  const entry = UNITS[kind].find(([name]) => name === (SPELLINGS[unit] ?? unit));
  return entry ? Number(match[1]) * entry[1] : NaN;
}

// The shortest text with three digits, in the largest unit that makes it at least one.
export function written(kind, value) {
  if (value === 0) return { rate: "0bit", time: "0s", share: "0%", count: "0" }[kind];
  const units = UNITS[kind];
  const rounded = Number(value.toPrecision(3));
  const [unit, size] =
    units.find(([, factor]) => rounded >= factor * 0.99999) || units[units.length - 1];
  return `${Number((rounded / size).toPrecision(3))}${unit}`;
}

// Where a slider of `field` stands for a value, and the other way round. With `zero` the lowest
// place is nothing at all.
export function placeOf(field, value) {
  if (!(value > 0) && field.zero) return 0;
  const share = Math.log(value / field.low) / Math.log(field.high / field.low);
  return Math.round(Math.max(field.zero ? 1 / STEPS : 0, Math.min(1, share)) * STEPS);
}

export function valueAt(field, place) {
  if (field.zero && Number(place) === 0) return 0;
  const value = field.low * (field.high / field.low) ** (place / STEPS);
  const nice = Number(value.toPrecision(2));
  return field.kind === "count" ? Math.max(1, Math.round(nice)) : nice;
}

const FRAME = 1514 * 8; // bits of a full Ethernet frame without its check sum

// How many bandwidth-delay products a queue of packets holds: rate times round trip.
export function inProducts(settings) {
  const product = parsed("rate", settings.bw) * 2 * parsed("time", settings.delay);
  return (parsed("count", settings.queue) * FRAME) / product;
}

export function packetsOf(products, settings) {
  const product = parsed("rate", settings.bw) * 2 * parsed("time", settings.delay);
  return Math.max(1, Math.round((products * product) / FRAME));
}
