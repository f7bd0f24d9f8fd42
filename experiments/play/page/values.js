// Quantities with units, as sliders know them: each place of a slider is a round value.

// Within a power of ten, each about a tenth above the one before.
const ROUND = [1, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.3, 3.6, 4, 4.5, 5, 5.6, 6.3];
const DECADE = [...ROUND, 7, 8, 9];

const UNITS = {
  rate: [["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3], ["bit", 1]],
  time: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
  share: [["%", 1]],
  count: [["", 1]],
};
const SPELLINGS = { sec: "s", packets: "", packet: "", p: "" };

// The number that a text is in the base unit (bit/s, s, %, 1), or NaN. The server decides.
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

// The values of a slider's places. With `zero` the lowest is nothing at all; a `linear` one counts.
export function placesOf(field) {
  if (field.linear) {
    return Array.from({ length: field.high - field.low + 1 }, (_, at) => field.low + at);
  }
  const values = field.zero ? [0] : [];
  for (let power = Math.floor(Math.log10(field.low)); 10 ** power <= field.high; power += 1) {
    for (const factor of DECADE) {
      const exact = Number((factor * 10 ** power).toPrecision(2));
      const value = field.kind === "count" ? Math.round(exact) : exact;
      const isNew = value > (values[values.length - 1] ?? -1);
      if (isNew && value >= field.low * 0.999 && value <= field.high * 1.001) values.push(value);
    }
  }
  return values;
}

// The place that is nearest to a value, as eyes see it: by its logarithm.
export function nearestPlace(places, value) {
  const distance = (one) =>
    value > 0 && one > 0 ? Math.abs(Math.log(one / value)) : Math.abs(one - value) * 1e9;
  let best = 0;
  places.forEach((one, at) => {
    if (distance(one) < distance(places[best])) best = at;
  });
  return best;
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
