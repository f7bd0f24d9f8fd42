// What limits a sender, from the samples of its window, its packets and the ACKs that it heard.

const GROWN = 1.05; // times what its samples say, which a window in congestion avoidance may have now
const ALIKE = 1.25; // times, between samples of a window that marks kept in place
const BURST = 1e-3; // s between packets of one burst
const SLOW_START = "Slow start: each acknowledged segment adds one (RFC 5681, section 3.1)";
const PACED = {
  bbr: "the rate that it measures (draft-ietf-ccwg-bbr)",
  prague: "its window in a round trip (draft-briscoe-iccrg-prague-congestion-control)",
};

// A flow's congestion window at a time, {low, high, since, until, grown, isSlow, isCut}, or null.
// In slow start it is the newest sample and all acknowledged since; else it lies between the
// samples around it, if no loss or mark came between, or if they are alike.
function windowAt(model, flow, time) {
  const [before, after] = model.samplesAround(flow, time);
  if (before === undefined) return null;
  const { time: times, window } = model.samples;
  const [since, low] = [times[before], window[before]];
  const slow = slowWindow(model, flow, time, before, after);
  if (slow) return slow;
  const isCut = after === undefined || model.fell(flow, since, times[after]);
  const high = after === undefined ? low : window[after];
  const isAlike = after !== undefined && Math.max(low, high) < ALIKE * Math.min(low, high);
  if (!isCut || isAlike) {
    const [least, most] = [Math.min(low, high), Math.max(low, high)];
    return { low: least, high: most, since, until: times[after], grown: 0, isCut };
  }
  return time - since <= model.trip ? { low, high: low, since, grown: 0 } : null;
}

function slowWindow(model, flow, time, before, after) {
  const { time: times, window, threshold } = model.samples;
  const low = window[before];
  const until = (row) => (threshold && row !== undefined && threshold[row]) || Infinity;
  const isOver = !threshold || low >= until(before) || pacedBy(model, flow);
  if (isOver || model.fell(flow, times[before], time)) return null;
  const isGrowing = after !== undefined && !model.fell(flow, times[before], times[after]);
  const most = Math.min(until(before), isGrowing ? Math.min(until(after), window[after]) : Infinity);
  const heard = model.acknowledged(flow, time) - model.acknowledged(flow, times[before]);
  const high = Math.max(low, Math.min(low + heard, most));
  return { low: high, high, since: times[before], grown: high - low, isSlow: high < most };
}

function pacedBy(model, flow) {
  const name = (model.flows || [])[flow] || "";
  return Object.keys(PACED).find((start) => name.startsWith(start));
}

function windowText({ low, high, since, until, grown, isSlow, isCut }) {
  if (isSlow || grown)
    return `${isSlow ? SLOW_START : "Slow start ends"}: the window is ${kilobytes(high)}, ${kilobytes(high - grown)} of a sample at ${since.toFixed(3)} s and ${kilobytes(grown)} acknowledged since.`;
  if (until === undefined || low === high) return `The window is ${kilobytes(low)}.`;
  const between = isCut ? "; a loss or a mark came between" : "";
  return `The window is ${kilobytes(low)} to ${kilobytes(high)}, by samples at ${since.toFixed(3)} and ${until.toFixed(3)} s${between}.`;
}

// The smallest window that is full, or neither.
function limitsOf(model, flow, time) {
  const answer = model.newestAck(flow, time);
  const sent = model.unacknowledged(flow, time);
  const flying = sent - model.reported(flow, answer);
  const window = windowAt(model, flow, time);
  const isTold = answer !== undefined && model.acks.window;
  const offered = isTold ? model.acks.window[answer] : null;
  const isOfReceiver = offered !== null && sent + model.segment > offered;
  // More on the way than the samples allow: they are older than what the ACKs have added.
  const isOfNetwork = window !== null &&
    GROWN * (flying + model.segment) > window.low && flying <= GROWN * window.high;
  const isFirst = window === null || offered <= window.high || flying > GROWN * window.high;
  const name = isOfReceiver && isFirst ? "receiver" : isOfNetwork ? "congestion" : "";
  return { answer, sent, flying, window, offered, name };
}

// The end of the burst in which a packet is: what follows before any ACK, and at once.
function burstEnd(model, flow, newest) {
  const { sent } = model.data;
  let last = newest;
  for (let at = newest + 1; at < model.count && sent[at] - sent[last] < BURST; at += 1) {
    if (model.data.flow[at] !== flow) continue;
    if (model.newestAck(flow, sent[at]) !== model.newestAck(flow, sent[last])) break;
    last = at;
  }
  return last;
}

// Of a time without a loss: which window is full, what opens it, or that neither is.
function whyLimited(model, time) {
  const { data } = model;
  const newest = Math.max(lowerBound(data.sent, time + 1e-9) - 1, 0);
  const flow = data.flow[newest];
  const last = burstEnd(model, flow, newest);
  const then = Math.max(time, data.sent[last]);
  const limits = limitsOf(model, flow, then);
  if (limits.answer === undefined) return whyOpening(model, newest, time);
  const clauses = [offerClause(model, limits)];
  clauses.push({ time: then, look: "data", text: limitText(model, flow, then, limits) });
  if (limits.name === "congestion") clauses.push(...originClause(model, flow, then, limits.window));
  const next = data.flow.indexOf(flow, last + 1);
  if (next >= 0 && limits.name) clauses.push(openedClause(model, flow, next));
  clauses.sort((one, other) => one.time - other.time);
  return { title: "What limits the sender?", clauses };
}

// Before the first ACK the handshake waits, or data that came with it.
function whyOpening({ data }, newest, time) {
  const text = data.length[newest] ? "No ACK has reached the sender yet."
    : "The connection opens: data waits for the receiver's answer to the SYN (RFC 9293, section 3.5).";
  const opened = { time: data.sent[newest], look: "data", text: "The sender's newest packet." };
  return { title: "What limits the sender?", clauses: [opened, { time, look: "faded", text }] };
}

function offerClause(model, { answer, offered }) {
  const upTo = `An ACK reaches the sender: all up to byte ${bytes(model.acks.acknowledgement[answer])} is there`;
  const more = offered === null ? "" : `, and the receiver takes ${bytes(offered)} bytes more`;
  return { time: model.ackArrived[answer], look: "ack", text: `${upTo}${more}.` };
}

function limitText(model, flow, time, { sent, flying, window, offered, name }) {
  if (name === "receiver") {
    const other = window === null ? "" : ` ${windowText(window)}`;
    return `The receive window is full: ${kilobytes(sent)} of ${kilobytes(offered)} are sent and not acknowledged (RFC 9293, section 3.8.6).${other}`;
  }
  const held = sent > flying ? `, and ${kilobytes(sent - flying)} more that SACK reports` : "";
  const used = `${kilobytes(flying)} are sent and not acknowledged${held}`;
  if (name === "congestion")
    return `The congestion window is full (RFC 5681, section 3.1): ${used}. ${windowText(window)}`;
  if (window === null && model.acknowledged(flow, time) <= 1)
    return `No ACK of data has come: ${used}, of the initial window (ten segments by RFC 6928, unless the route sets another).`;
  if (window === null || offered === null)
    return "What limits the sender is not known: its windows are not all recorded here.";
  if (flying > window.high)
    return `What limits the sender is not known: ${used}, more than the samples say. ${windowText(window)}`;
  const room = `No window is full: ${used}, and the receiver takes ${kilobytes(offered)}. ${windowText(window)}`;
  const last = model.newestSent(flow, time);
  if (last !== undefined && model.data.length[last] < model.segment)
    return `${room} The last segment is not full: the program had no more data.`;
  const pace = pacedBy(model, flow);
  return pace
    ? `${room} It paces: segments leave at ${PACED[pace]}.`
    : `${room} So the program, its send buffer or pacing limits; which, captures do not show.`;
}

// Of the window's size: the newest loss or retransmission that made it fall, or slow start's end.
function originClause(model, flow, time, { high, isSlow }) {
  const at = newestTrouble(model, time);
  if (at === undefined) return isSlow ? [] : slowStartEnd(model, flow, time);
  const before = windowAt(model, flow, model.data.sent[at]);
  if (model.data.flow[at] !== flow || before === null || before.low <= high) return [];
  const what = model.isAgain[at] ? "is sent again" : "is lost";
  const text = `Packet ${at + 1} ${what}: the window was ${kilobytes(before.low)} then.`;
  return [{ time: model.data.sent[at], look: "again", text }];
}

// Slow start that ended without a loss or a mark.
function slowStartEnd(model, flow, time) {
  const { time: times, window, threshold } = model.samples;
  const at = threshold ? threshold.findIndex((each, row) => each > 0 && model.flowOf(row) === flow) : -1;
  if (at < 0 || times[at] > time || model.fell(flow, 0, times[at])) return [];
  return [{ time: times[at], look: "data",
    text: `Slow start has ended at ${kilobytes(window[at])} without a loss: round trips or trains of ACKs grew long (HyStart; RFC 9406).` }];
}

function openedClause(model, flow, next) {
  const sent = model.data.sent[next];
  const answer = model.newestAck(flow, sent);
  const after = answer === undefined ? Infinity : sent - model.ackArrived[answer];
  const cause = after < BURST ? ", as an ACK makes room" : "";
  return { time: sent, look: "data", text: `Packet ${next + 1} leaves${cause}.` };
}
