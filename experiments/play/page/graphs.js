// What the graphs show of one run, or of two: layers for the board of plots.

import { parsed } from "./values.js";

const TIME = { label: "time", unit: "s" };
const GREY = "#666666";
const VERMILLION = "#D55E00";
const PURPLE = "#CC79A7";
const BLACK = "#000000";
const HEIGHT = 190;
const BUCKET = 0.1; // seconds of an average, which has the time of its end

const KIND = { data: 0, again: 1, ack: 2, sack: 3, lost: 4 };
const RECOVERY = 3;

// Each with the kinds of frames that it is drawn from, the first to come first.
export const GRAPHS = [
  {
    key: "window",
    kinds: ["samples", "events"],
    title: "Congestion window",
    caption: "What the sender lets itself have on the way. Signs at the top are events: click one.",
    y: { label: "window", unit: "B", zero: true },
  },
  {
    key: "rate",
    kinds: ["rates"],
    title: "Throughput",
    caption: "What arrived new, in steps of 100 ms; dotted: the link's rate, headers included.",
    y: { label: "throughput", unit: "bit/s", zero: true },
  },
  {
    key: "trip",
    kinds: ["samples", "queue", "drops"],
    title: "Round trip and queue",
    caption: "The sender's smoothed round trip; in grey, the wait in the queue. Ticks: drops.",
    y: { label: "time", unit: "ms", zero: true },
  },
  {
    key: "flight",
    kinds: ["samples"],
    title: "Bytes in flight",
    caption: "Sent, and not yet known to have arrived.",
    y: { label: "in flight", unit: "B", zero: true },
  },
  {
    key: "sequence",
    kinds: ["packets"],
    title: "Time and sequence",
    caption: "Each packet is a stroke: its bytes, when it was sent. Zoom in to tell them apart.",
    y: { label: "bytes since the start", unit: "B" },
    height: 300,
  },
].map((graph) => ({ height: HEIGHT, ...graph, overTime: true, x: TIME, layers: [] }));

// The layers of a graph. `views` are [{ run, prefix, isKept }], the kept side first.
export function layersOf(key, views) {
  const whole = views.flatMap((view) => LAYERS[key](view));
  return [...differences(key, views), ...whole].filter((layer) => layer.x.length > 0);
}

function flowsOf(run) {
  return run.settings.flows.split("+").map((text, flow) => ({ flow, name: text.split("@")[0] }));
}

function words(view, name, flow, what) {
  const several = view.run.flowCount() > 1;
  return `${view.prefix}${several ? `${flow + 1} ${name}: ` : ""}${what}`;
}

// Colour tells flows apart; strokes tell sides and quantities apart: [moved side, kept side].
const CURVE = [null, [9, 4]];
const LIMIT = [[2, 3], [9, 3, 2, 3]];
function drawn(view, look, [moved, kept] = CURVE) {
  const [width, dash] = view.isKept ? [1.1, kept] : [look.width || 1.8, moved];
  return { ...look, width, dash };
}

function overSamples(view, column, what, strokes = CURVE) {
  return flowsOf(view.run).map(({ flow, name }) => {
    // No threshold is NaN, and no round trip yet is zero.
    const isKnown = (value) => !Number.isNaN(value) && (column !== "rtt" || value > 0);
    const rows = view.run.rows(
      "samples",
      (columns, at) => columns.flow[at] === flow && isKnown(columns[column][at]),
    );
    const [x, y] = rows ? [rows.time, rows[column]] : [[], []];
    return {
      name: column,
      shape: column === "rtt" ? "line" : "stairs",
      x,
      y,
      series: flow,
      look: drawn(view, strokes === LIMIT ? { fit: false, width: 1 } : {}, strokes),
      words: words(view, name, flow, what),
    };
  });
}

const LAYERS = {
  window: (view) => [
    ...recoveries(view),
    ...overSamples(view, "ssthresh", "slow-start threshold", LIMIT),
    ...overSamples(view, "cwnd", "congestion window"),
    ...events(view),
  ],
  rate: (view) => [...linkRate(view), ...seedBand(view), ...rates(view)],
  trip: (view) => [...queue(view), ...overSamples(view, "rtt", "round trip"), ...drops(view)],
  flight: (view) => overSamples(view, "in_flight", "in flight"),
  sequence: (view) => (view.isKept ? [] : packets(view)),
};

// While the sender repairs a loss, as boxes below the window.
function recoveries(view) {
  if (view.isKept) return [];
  return flowsOf(view.run).map(({ flow }) => {
    const rows = view.run.rows("samples", (columns, at) => columns.flow[at] === flow);
    const spans = rows ? spansOf(rows) : [];
    return {
      name: "recovery",
      shape: "boxes",
      x: Float64Array.from(spans, ([from]) => from),
      end: Float64Array.from(spans, ([, to]) => to),
      y: new Float64Array(spans.length),
      top: Float64Array.from(spans, ([, , high]) => high),
      look: { colour: GREY, faint: true, fit: false },
      words: `${view.prefix}repairing a loss`,
    };
  });
}

function spansOf({ time, state, cwnd }) {
  const spans = [];
  for (let at = 0; at < time.length; at += 1) {
    if (state[at] < RECOVERY) continue;
    const begin = at;
    let high = 0;
    while (at < time.length && state[at] >= RECOVERY) high = Math.max(high, cwnd[at++]);
    spans.push([time[begin], time[Math.min(at, time.length - 1)], high]);
  }
  return spans;
}

function events(view) {
  if (view.isKept) return [];
  return flowsOf(view.run).map(({ flow, name }) => {
    const own = view.run.events.filter((event) => event.flow === flow);
    const sorted = own.sort((one, other) => one.time - other.time);
    return {
      name: "events",
      shape: "moments",
      x: Float64Array.from(sorted, (event) => event.time),
      y: new Float64Array(sorted.length),
      notes: sorted.map((event) => event.sentence),
      events: sorted,
      series: flow,
      look: { mark: "diamond", every: true, width: 1.5 },
      words: words(view, name, flow, "events"),
    };
  });
}

function rates(view) {
  return flowsOf(view.run).map(({ flow, name }) => {
    const rows = view.run.rows("rates", (columns, at) => columns.flow[at] === flow);
    return {
      name: "goodput",
      shape: "stairs",
      x: rows ? rows.time.map((end) => end - BUCKET) : [],
      y: rows ? rows.goodput.map((value) => value * 1e6) : [],
      series: flow,
      look: drawn(view, {}),
      words: words(view, name, flow, "throughput"),
    };
  });
}

// The link's rate over time: one step, or more if it changes.
function linkRate(view) {
  if (view.isKept) return [];
  const { bw, duration, change } = view.run.settings;
  const points = [[0, parsed("rate", bw)]];
  for (const part of (change || "").split(",")) {
    const at = parsed("time", part.trim().split(/\s+/)[0]);
    const to = /bw=(\S+)/.exec(part);
    if (at >= 0 && to) points.push([at, parsed("rate", to[1])]);
  }
  points.push([parsed("time", duration), points[points.length - 1][1]]);
  return [
    {
      name: "link",
      shape: "stairs",
      x: Float64Array.from(points, ([time]) => time),
      y: Float64Array.from(points, ([, rate]) => rate),
      look: { colour: GREY, dash: true, width: 1 },
      words: "the link's rate",
    },
  ];
}

function seedBand(view) {
  return flowsOf(view.run).flatMap(({ flow, name }) => {
    const rows = view.run.rows("band", (columns, at) => columns.flow[at] === flow);
    if (!rows) return [];
    const [low, middle, high] = [rows.low, rows.middle, rows.high].map((column) =>
      column.map((value) => value * 1e6),
    );
    const x = rows.time.map((end) => end - BUCKET / 2);
    const common = { x, series: flow, words: words(view, name, flow, "over seeds") };
    return [
      { ...common, name: "band", shape: "band", y: low, top: high, look: {} },
      { ...common, name: "middle", shape: "line", y: middle, look: { dash: true, width: 1 } },
    ];
  });
}

function queue(view) {
  const rows = view.isKept ? null : view.run.rows("queue");
  if (!rows) return [];
  return [
    {
      name: "queue",
      shape: "line",
      x: rows.time,
      y: rows.delay,
      look: { colour: GREY, width: 1 },
      words: `${view.prefix}wait in the queue`,
      fields: [["packets in the queue", rows.packets]],
    },
  ];
}

function drops(view) {
  const rows = view.isKept ? null : view.run.rows("drops");
  if (!rows) return [];
  return [
    {
      name: "drops",
      shape: "moments",
      x: rows.time,
      y: rows.time,
      notes: Array.from(rows.flow, (flow) => `a packet of flow ${flow + 1} was dropped`),
      look: { colour: BLACK, width: 1.2 },
      words: `${view.prefix}drops`,
    },
  ];
}

function packets(view) {
  const of = (kind) => view.run.rows("packets", (columns, at) => columns.kind[at] === kind);
  const layer = (kind, name, look, what, more = {}) => {
    const rows = of(kind);
    if (!rows) return [];
    const top = rows.sequence.map((first, at) => first + rows.length[at]);
    const columns = { x: rows.time, y: rows.sequence, top };
    return [{ name, shape: "bars", ...columns, look, words: `${view.prefix}${what}`, ...more }];
  };
  const perFlow = (kind, name, shape, what) =>
    flowsOf(view.run).map(({ flow, name: algorithm }) => {
      const own = (columns, at) => columns.kind[at] === kind && columns.flow[at] === flow;
      const rows = view.run.rows("packets", own);
      const y = rows ? rows.sequence : [];
      return {
        name,
        shape,
        x: rows ? rows.time : [],
        y,
        ...(shape === "bars" ? { top: y.map((first, at) => first + rows.length[at]) } : {}),
        series: flow,
        look: { width: shape === "bars" ? 1.8 : 1, dash: shape !== "bars" },
        words: words(view, algorithm, flow, what),
      };
    });
  return [
    ...perFlow(KIND.ack, "ack", "stairs", "acknowledged"),
    ...layer(KIND.sack, "sack", { colour: PURPLE, width: 2 }, "reported by SACK"),
    ...perFlow(KIND.data, "data", "bars", "data"),
    ...layer(
      KIND.again,
      "again",
      { colour: VERMILLION, mark: "triangle", letter: "R", every: true, width: 2 },
      "R: sent again",
    ),
    ...layer(KIND.lost, "lost", { colour: BLACK, mark: "cross", every: true }, "lost"),
  ];
}

const COMPARED = { window: ["samples", "cwnd", 1], rate: ["rates", "goodput", 1e6] };
const MOST_POINTS = 2000;

// The surface between two runs' curves, flow by flow.
function differences(key, views) {
  if (views.length < 2 || !COMPARED[key]) return [];
  const [kind, column, scale] = COMPARED[key];
  const flows = Math.min(...views.map(({ run }) => run.flowCount()));
  return Array.from({ length: flows }, (_, flow) => {
    const [one, other] = views.map(({ run }) =>
      run.rows(kind, (columns, at) => columns.flow[at] === flow),
    );
    if (!one || !other) return { x: [] };
    return { ...between(one, other, column, scale), series: flow };
  }).filter((layer) => layer.x.length);
}

// Both curves hold until their next moment, so each moment has a value before and one after.
function between(one, other, column, scale) {
  const times = [...new Set([...one.time, ...other.time])].sort((early, late) => early - late);
  const every = Math.ceil(times.length / MOST_POINTS);
  const moments = times.filter((_, at) => at % every === 0);
  const [y, top] = [one, other].map((rows) => {
    let at = -1;
    const values = [];
    for (const time of moments) {
      values.push(values.length ? values[values.length - 1] : 0);
      while (at + 1 < rows.time.length && rows.time[at + 1] <= time) at += 1;
      values.push(at < 0 ? 0 : rows[column][at] * scale);
    }
    return Float64Array.from(values);
  });
  return {
    name: "difference",
    shape: "band",
    x: Float64Array.from(moments.flatMap((time) => [time, time])),
    y,
    top,
    look: {},
    words: "the difference of A and B",
  };
}
