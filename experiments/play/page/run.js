// One run as it arrives: columns that grow, by kind; events; the outcome; and when each came.

const FIRST_ROOM = 1024;

// A column that grows: a typed array with room, of which `values` is the part in use.
class GrowingColumn {
  constructor() {
    this.room = new Float64Array(FIRST_ROOM);
    this.length = 0;
  }

  add(values) {
    while (this.length + values.length > this.room.length) {
      const larger = new Float64Array(2 * this.room.length);
      larger.set(this.room);
      this.room = larger;
    }
    this.room.set(values, this.length);
    this.length += values.length;
  }

  get values() {
    return this.room.subarray(0, this.length);
  }
}

export class Run {
  constructor(number, settings, since) {
    Object.assign(this, { number, settings, since, command: "", outcome: null, events: [] });
    this.kinds = {};
    this.times = {};
    this.versions = {}; // how many frames of each kind have come, and events
  }

  get isWhole() {
    return this.outcome !== null;
  }

  get isGood() {
    return this.isWhole && this.outcome.verdict === "good";
  }

  // Whether it is whole, or has had `patience` ms to show samples.
  isSampled(patience) {
    return this.isWhole || performance.now() - this.since - this.times.samples >= patience;
  }

  addFrame({ kind, columns }) {
    if (kind === "band") delete this.kinds.band; // of one seed more than the last
    const kept = (this.kinds[kind] = this.kinds[kind] || {});
    for (const [name, values] of Object.entries(columns)) {
      kept[name] = kept[name] || new GrowingColumn();
      kept[name].add(values);
    }
    if (!this.times[kind]) this.times[kind] = performance.now() - this.since;
    this.versions[kind] = (this.versions[kind] || 0) + 1;
  }

  addEvent(event) {
    this.events.push(event);
    this.versions.events = this.events.length;
  }

  finish(outcome) {
    this.outcome = outcome;
    this.times.whole = performance.now() - this.since;
  }

  // All columns of a kind in the order in which they came; null without any.
  columns(kind) {
    const kept = this.kinds[kind];
    if (!kept) return null;
    return Object.fromEntries(Object.entries(kept).map(([name, column]) => [name, column.values]));
  }

  // The rows of a kind that `keep(columns, row)` keeps, as columns sorted by time.
  rows(kind, keep = () => true) {
    const columns = this.columns(kind);
    if (!columns) return null;
    const places = placesOf(columns, keep);
    return Object.fromEntries(
      Object.entries(columns).map(([name, values]) => [name, picked(values, places)]),
    );
  }

  flowCount() {
    return this.settings.flows.split("+").length;
  }
}

// The rows that are kept, the earliest first.
function placesOf(columns, keep) {
  const { time } = columns;
  const places = new Uint32Array(time.length);
  let count = 0;
  let isSorted = true;
  for (let at = 0; at < time.length; at += 1) {
    if (!keep(columns, at)) continue;
    isSorted = isSorted && (count === 0 || time[at] >= time[places[count - 1]]);
    places[count] = at;
    count += 1;
  }
  const kept = places.subarray(0, count);
  return isSorted ? kept : kept.sort((one, other) => time[one] - time[other]);
}

function picked(values, places) {
  const chosen = new Float64Array(places.length);
  for (let at = 0; at < places.length; at += 1) chosen[at] = values[places[at]];
  return chosen;
}
