// "Why?": what led to a packet, as clauses {time, look, text} in the order of time.

const SIGNS = {
  fast: ["Three duplicate ACKs", "the sender takes the segment for lost", "RFC 5681, section 3.2"],
  sack: ["SACK reports bytes above it", "the sender takes the segment for lost", "RFC 6675; RFC 8985"],
  rto: ["The retransmission timer", "it ran out, or its repair goes on", "RFC 6298, section 5"],
  tlp: ["A tail loss probe", "no ACK came for two round trips", "RFC 8985, section 7"],
  spurious: ["Needless", "the receiver had it, as DSACK or a timestamp told later", "RFC 2883; RFC 3522"],
  syn: ["A SYN again", "no answer came before the timer ran out", "RFC 6298, section 2"],
  fin: ["A FIN again", "no ACK came before the timer ran out", "RFC 6298, section 5"],
  probe: ["A window probe", "the receiver's window was closed", "RFC 9293, section 3.8.6.1"],
  fastopen: ["Data of the SYN again", "the SYN-ACK did not acknowledge it", "RFC 7413"],
};
const UNKNOWN = "Why is not known: the captures show none of the signs that the analysis knows.";
const PLACES = {
  mouth: "lost at random, as the link is set (netem draws before its delay)",
  queue: "dropped, because the queue was full",
  unknown: "lost on the way; where, the captures do not show",
};
const LATE = 0.15; // s, for a call

function secondsText(seconds) {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} \u00b5s`;
  return seconds < 1 ? `${Number((seconds * 1e3).toPrecision(3))} ms` : `${seconds.toFixed(2)} s`;
}

function bytes(count) {
  return count.toLocaleString("en");
}

// All packets that carried the first byte of this one, in order.
function triesOf(model, at) {
  const { sequence, length, flow, sent } = model.data;
  const first = sequence[at];
  return Array.from(sent.keys()).filter(
    (other) =>
      flow[other] === flow[at] &&
      sequence[other] <= first &&
      (sequence[other] + length[other] > first || other === at),
  );
}

// {title, clauses} of a data packet.
function whyPacket(model, at) {
  if (model.isCall(at)) return model.isLost(at) ? whyLost(model, at) : whyCall(model, at);
  const tries = triesOf(model, at);
  const place = tries.indexOf(at);
  if (place > 0 && model.isAgain[at]) return whyAgain(model, tries, place);
  if (tries[place + 1] !== undefined && model.isAgain[tries[place + 1]]) {
    return whyAgain(model, tries, place + 1);
  }
  return model.isLost(at) ? whyLost(model, at) : whyOrdinary(model, at);
}

function whyLost(model, at) {
  const clauses = [lossClause(model, at), { time: model.fallsFrom(at) + model.fall, look: "faded",
    text: model.isCall(at) ? "A call sends nothing again: this sound is missing."
      : "It was not sent again while the capture lasted." }];
  return { title: `Packet ${at + 1} was lost`, clauses };
}

function lossClause(model, at) {
  const place = model.placeOfLoss(at);
  const time = model.fallsFrom(at);
  const full = place === "queue" ? ` (${model.shape.queue} of ${model.shape.queue} slots)` : "";
  const text = `Packet ${at + 1} is ${PLACES[place]}${full}.`;
  return { time, look: "lost", text };
}

function queueClause(model, at, look) {
  const ahead = model.waiting(model.join[at] - 1e-9);
  const wait = secondsText(model.leave[at] - model.join[at]);
  const text = ahead
    ? `It joins the queue behind ${ahead}, and waits ${wait}.`
    : "It finds the queue empty.";
  return { time: model.join[at], look, text };
}

function whyCall(model, at) {
  const clauses = [{ time: model.data.sent[at], look: "call", text: "The call sends 20 ms of sound." }];
  if (model.isPlaced) clauses.push(queueClause(model, at, "call"));
  const trip = model.arrived[at] - model.data.sent[at];
  const judged = trip > LATE ? "too late for a conversation (ITU-T G.114)" : "in time";
  clauses.push({ time: model.arrived[at], look: "call",
    text: `It arrives after ${secondsText(trip)}: ${judged}.` });
  return { title: "A packet of the call", clauses };
}

function whyOrdinary(model, at) {
  const { sent, sequence, length, flow, marked } = model.data;
  const clauses = [{ time: sent[at], look: "data", text: sentText(model, at) }];
  if (model.isPlaced) clauses.push(queueClause(model, at, "data"));
  if (marked[at]) {
    clauses.push({ time: model.join[at], look: "marked",
      text: "The queue marks it instead of dropping a packet (ECN, RFC 3168)." });
  }
  const { wanted } = model.held(flow[at], model.arrived[at]);
  const isHeld = wanted <= sequence[at];
  const held = isHeld ? ` Byte ${bytes(wanted)} is missing before it, so it is held.` : "";
  const trip = secondsText(model.arrived[at] - sent[at]);
  clauses.push({ time: model.arrived[at], look: "data", text: `It arrives after ${trip}.${held}` });
  const answer = model.heard.find(
    (ack) =>
      model.acks.flow[ack] === flow[at] &&
      model.ackArrived[ack] > model.arrived[at] &&
      model.acks.acknowledgement[ack] >= sequence[at] + length[at],
  );
  if (answer !== undefined) {
    const took = secondsText(model.ackArrived[answer] - sent[at]);
    clauses.push({ time: model.ackArrived[answer], look: "ack",
      text: `An ACK beyond it reaches the sender, ${took} after it left.` });
  }
  return { title: `Packet ${at + 1}: sent once`, clauses };
}

function sentText(model, at) {
  const { sent, sequence, length, flow } = model.data;
  const range = `bytes ${bytes(sequence[at])} to ${bytes(sequence[at] + length[at])}`;
  const newest = model.heard[lowerBound(model.heardAt, sent[at] + 1e-9) - 1];
  const isClocked = newest !== undefined && sent[at] - model.ackArrived[newest] < 1e-3;
  const window = windowAt(model, flow[at], sent[at]);
  const allowed = window ? ` ${windowText(window)}` : "";
  const cause = isClocked ? "An ACK lets the sender send" : "The sender sends";
  return `${cause} ${range}.${allowed}`;
}

// The chain from the try before to `tries[place]`, which was sent again.
function whyAgain(model, tries, place) {
  const [before, again] = [tries[place - 1], tries[place]];
  const first = model.isLost(before) ? lossClause(model, before) : arrivedClause(model, before);
  const clauses = [first, ...noticeClauses(model, before, again), againClause(model, before, again)];
  clauses.push(outcomeClause(model, tries, place));
  clauses.sort((one, other) => one.time - other.time);
  return { title: `Why was packet ${before + 1} sent again?`, clauses };
}

function arrivedClause(model, at) {
  const trip = secondsText(model.arrived[at] - model.data.sent[at]);
  return { time: model.arrived[at], look: "data",
    text: `Packet ${at + 1} was not lost: it arrives after ${trip}.` };
}

// What the receiver noticed and what of that reached the sender.
function noticeClauses(model, before, again) {
  const { data, acks } = model;
  const [from, until] = [data.sent[before], data.sent[again]];
  if (!model.isLost(before)) return lostAcks(model, before, until);
  const { places } = model.receiver(data.flow[before]);
  const above = places.find((at) =>
    data.sent[at] > from && data.sequence[at] > data.sequence[before] && model.arrived[at] < until);
  if (above === undefined) {
    return [{ time: until - 1e-6, look: "faded",
      text: "Silence: nothing above the hole arrives before the sender acts." }];
  }
  const answer = lowerBound(acks.sent, model.arrived[above] - 1e-6);
  const blocks = model.blocksOf.get(answer) || [];
  const says = blocks.length
    ? `reports bytes ${bytes(model.blocks.left[blocks[0]])} to ${bytes(model.blocks.right[blocks[0]])} by SACK`
    : "can only repeat its last ACK";
  const hole = { time: model.arrived[above], look: blocks.length ? "sack" : "ack",
    text: `The hole shows: packet ${above + 1} arrives above it. The receiver ${says}.` };
  return [hole, ...heardClause(model, before, from, until)];
}

function lostAcks(model, before, until) {
  const { acks, data } = model;
  const isOfIt = (at) =>
    acks.sent[at] >= model.arrived[before] && acks.sent[at] < until &&
    acks.acknowledgement[at] >= data.sequence[before] + data.length[before];
  const lost = Array.from(acks.sent.keys()).filter(
    (at) => isOfIt(at) && model.ackArrived[at] === Infinity,
  );
  const text = lost.length
    ? `${lost.length === 1 ? "Its ACK is" : `${lost.length} ACKs for it are`} lost on the way back.`
    : "The sender has not been told when it acts.";
  return [{ time: lost.length ? acks.sent[lost[0]] : model.arrived[before], look: "faded", text }];
}

// How many ACKs told the sender of the hole.
function heardClause(model, before, from, until) {
  const { acks, data } = model;
  const isOfHole = (at) =>
    acks.flow[at] === data.flow[before] && acks.acknowledgement[at] <= data.sequence[before];
  const told = model.heard.filter(
    (at) => model.ackArrived[at] > from && model.ackArrived[at] <= until + 1e-9 && isOfHole(at),
  );
  const sent = Array.from(acks.sent.keys()).filter(
    (at) => acks.sent[at] > from && acks.sent[at] < until && isOfHole(at),
  );
  const lost = sent.filter((at) => model.ackArrived[at] === Infinity).length;
  const missing = lost ? `; ${lost} more ${lost === 1 ? "is" : "are"} lost on the way` : "";
  const withSack = told.some((at) => model.blocksOf.has(at));
  const count = `${told.length} ACK${told.length === 1 ? "" : "s"}${withSack ? " with SACK" : ""}`;
  const time = told.length ? model.ackArrived[told[told.length - 1]] : until - 1e-6;
  const text = `${count} of the hole reach${told.length === 1 ? "es" : ""} the sender${missing}.`;
  return [{ time, look: withSack ? "sack" : "ack", text }];
}

function againClause(model, before, again) {
  const { sent, kind, flow } = model.data;
  const { name } = model.kinds[kind[again]];
  const sign = SIGNS[name];
  const after = secondsText(sent[again] - sent[before]);
  const window = model.window(flow[again], sent[again]);
  const allowed = window ? ` Window ${Math.round(window / 1000)} kB.` : "";
  const reason = sign ? `${sign[0]}: ${sign[1]} (${sign[2]}).` : UNKNOWN;
  return { time: sent[again], look: "again",
    text: `Sent again as packet ${again + 1}, ${after} after it left. ${reason}${allowed}` };
}

function outcomeClause(model, tries, place) {
  const again = tries[place];
  if (model.isLost(again)) {
    const next = tries[place + 1];
    const more = next === undefined ? "" : ` The next try follows at ${model.data.sent[next].toFixed(4)} s.`;
    return { ...lossClause(model, again), text: `That copy is ${PLACES[model.placeOfLoss(again)]}.${more}` };
  }
  const flow = model.data.flow[again];
  const time = model.arrived[again];
  const [old, now] = [time - 1e-6, time].map((at) => model.held(flow, at).wanted);
  const text = now > old
    ? `It arrives: ${bytes(now - old)} bytes go to the application at once.`
    : "It arrives, and the receiver had it already.";
  return { time, look: "data", text };
}

function whyAck(model, at) {
  const { acks, blocks } = model;
  const told = (model.blocksOf.get(at) || []).map(
    (row) => `${bytes(blocks.left[row])} to ${bytes(blocks.right[row])}`,
  );
  const also = told.length ? `, and holds ${told.join(", ")} (SACK, RFC 2018)` : "";
  const last = model.ackArrived[at] === Infinity
    ? { time: acks.sent[at] + model.fall / 2, look: "lost", text: "It is lost on its way to the sender." }
    : { time: model.ackArrived[at], look: "ack",
      text: `It reaches the sender after ${secondsText(model.ackArrived[at] - acks.sent[at])}.` };
  const first = { time: acks.sent[at], look: told.length ? "sack" : "ack",
    text: `The receiver has all up to byte ${bytes(acks.acknowledgement[at])}${also}.` };
  return { title: "What an ACK says", clauses: [first, last] };
}

// Why new data came late: a short segment was all that the program had given.
function whyWaited(model, next) {
  const { data, acks, segment } = model;
  const at = next > 0 ? data.flow.lastIndexOf(data.flow[next], next - 1) : -1;
  const answer = model.newestAck(data.flow[next], data.sent[next] - 1e-6);
  const isHeard =
    at >= 0 && answer !== undefined &&
    acks.acknowledgement[answer] >= data.sequence[at] + data.length[at];
  if (!isHeard) return "Why the sender waited is not known from captures.";
  const offered = acks.window ? acks.window[answer] : null;
  if (offered !== null && offered < segment)
    return `The receiver's window had room for ${bytes(offered)} bytes only (RFC 9293, section 3.8.6).`;
  if (data.length[at] < segment)
    return "All was acknowledged, and the segment before was not full: the program had no more data.";
  if (offered !== null)
    return "All was acknowledged, and the receiver's window was open: the program had no more data.";
  return "All was acknowledged: the program had no more data, or the receiver's window was closed.";
}

// Of a time at which nothing is on the way.
function whyPause(model, time) {
  const { data } = model;
  const next = lowerBound(data.sent, time);
  const earlier = model.moments[lowerBound(model.moments, time) - 1] ?? model.start;
  const clauses = [{ time: earlier, look: "faded", text: "The last packet before the pause." }];
  if (next >= model.count) {
    clauses.push({ time, look: "faded", text: "Nothing more is sent in this capture." });
    return { title: "Why is nothing on the way?", clauses };
  }
  const { name } = model.kinds[data.kind[next]];
  const sign = model.isAgain[next] && SIGNS[name];
  const text = sign
    ? `Packet ${next + 1} ends the pause. ${sign[0]}: ${sign[1]} (${sign[2]}).`
    : `Packet ${next + 1} ends the pause with new data. ${whyWaited(model, next)}`;
  clauses.push({ time: data.sent[next], look: sign ? "again" : "data", text });
  return { title: "Why is nothing on the way?", clauses };
}
