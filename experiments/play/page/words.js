// Sentences of a result, and how long it took.

function rounded(value) {
  return Number(value.toPrecision(3)).toLocaleString("en");
}

function perFlow(run, measure, unit) {
  const flows = run.outcome.flows;
  const values = flows.map(({ [measure]: value }) =>
    value === undefined ? "\u2013" : rounded(value),
  );
  return `${values.join(", ")} ${unit}`;
}

// One sentence that a screen reader says after each run.
export function summary(run) {
  const { flows, verdict, measures } = run.outcome;
  const names = run.settings.flows.split("+").map((text) => text.split("@")[0]);
  const several = flows.length > 1;
  const parts = [
    `${names.join(", ")}: ${perFlow(run, "goodput_mbit_s", "Mbit/s")}`,
    `round trip ${perFlow(run, "mean_rtt_ms", "ms")}`,
    `${rounded(measures.retransmitted)} segments sent again`,
  ];
  if (several) parts.push(`Jain's fairness index ${rounded(measures.fairness)}`);
  const warning = verdict === "good" ? "" : ` Not to be used: ${verdict}`;
  return `${parts.join("; ")}.${warning}`;
}

// What changed between the kept and the moved side.
export function comparison(kept, moved) {
  const [from, to] = [kept, moved].map((run) => run.outcome.measures);
  const change = (name, unit) => `${rounded(from[name])} \u2192 ${rounded(to[name])} ${unit}`;
  return `throughput ${change("goodput", "Mbit/s")}, round trip ${change("rtt", "ms")}.`;
}

// A side's name with its settings that the other side has not.
export function sideTitle(side, settings, other) {
  const names = Object.keys(settings).filter((name) => settings[name] !== other[name]);
  const parts = names.map((name) => `${NAMES[name] || name} ${settings[name]}`);
  return parts.length ? `${side}: ${parts.join(", ")}` : `${side}: the same settings`;
}

const NAMES = { bw: "rate", flows: "congestion control" };
const PHASES = { guest: "start", traffic: "sending", reading: "reading packets" };

export function latency(run) {
  const { samples, whole } = run.times;
  if (!samples) return "";
  const phases = run.outcome ? Object.entries(run.outcome.phases) : [];
  const times = phases.map(([name, seconds]) => `${PHASES[name]} ${Math.round(1000 * seconds)} ms`);
  const all = whole ? `, all after ${Math.round(whole)} ms` : "";
  const first = `First samples after ${Math.round(samples)} ms`;
  return `${first}${all}${times.length ? ` (${times.join(", ")})` : ""}.`;
}

export function moment(seconds) {
  return `${seconds.toFixed(3)} s`;
}
