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
  if (several) parts.push(`fairness ${rounded(measures.fairness)}`);
  const warning = verdict === "good" ? "" : ` Not to be used: ${verdict}`;
  return `${parts.join("; ")}.${warning}`;
}

// What changed between the kept and the moved side.
export function comparison(kept, moved) {
  const [from, to] = [kept, moved].map((run) => run.outcome.measures);
  const change = (name, unit) => `${rounded(from[name])} \u2192 ${rounded(to[name])} ${unit}`;
  return `throughput ${change("goodput", "Mbit/s")}, round trip ${change("rtt", "ms")}.`;
}

export function latency(run) {
  const parts = [];
  if (run.times.samples) parts.push(`first samples after ${Math.round(run.times.samples)} ms`);
  const isPlayed = run.times.samples && run.times.whole;
  if (isPlayed) parts.push(`all after ${Math.round(run.times.whole)} ms`);
  const phases = run.outcome ? Object.entries(run.outcome.phases) : [];
  const times = phases.map(([name, seconds]) => `${name} ${Math.round(1000 * seconds)}`);
  if (times.length) parts.push(`of these: ${times.join(", ")}`);
  return parts.join("; ");
}

export function moment(seconds) {
  return `${seconds.toFixed(3)} s`;
}
