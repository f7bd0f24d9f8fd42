// What the stage knows of one run: where each packet is at a time, in seconds.
//
//   {label, shape, data, acks, blocks, samples, kinds, flows}: columns as arrays;
//   data    sent, arrived (-1: never), sequence, length, kind, flow, marked
//   acks    sent, arrived, acknowledgement, flow, window (bytes, if known)
//   blocks  ack (place), left, right
//   samples time, window (bytes), threshold (of slow start; 0: none yet), flow
//   shape   nodes, delay, rate, queue, loss, drawn; flows: names of congestion controls
//   kept, last: the times whose packets are here, if not all, and when the run ends
//   callFlow, if there is one: the flow of a call's datagrams

const HEADERS = 66; // bytes of Ethernet, IP and TCP with timestamps before a segment's payload
const FALLING = 0.3; // round trips that a lost packet is seen to fall

// Retransmissions, by the names of analysis/flows/kinds.csv.
const AGAIN = ["fast", "sack", "rto", "tlp", "spurious", "other", "syn", "fin", "fastopen", "probe"];

class StageModel {
  constructor(run) {
    Object.assign(this, run);
    this.count = this.data.sent.length;
    this.isAgain = Array.from(this.data.kind, (kind) => AGAIN.includes(this.kinds[kind].name));
    this.arrived = arrivalsOf(this.data);
    this.ackArrived = arrivalsOf(this.acks);
    this.longest = longestTrip(this.data.sent, this.arrived);
    this.longestAck = longestTrip(this.acks.sent, this.ackArrived);
    this.trip = this.longest + this.longestAck; // the longest round trip
    this.fall = Math.max(0.004, FALLING * this.trip);
    this.queueTimes();
    this.acksAtSender();
    this.sentUpTo = highestEnds(this.data);
    this.segment = this.data.length.reduce((most, each) => Math.max(most, each), 0);
    this.blocksOf = Map.groupBy(this.blocks.ack.keys(), (row) => this.blocks.ack[row]);
    this.received = new Map(); // by flow, made when asked for
    const times = [this.data.sent, this.acks.sent, this.arrived, this.ackArrived];
    this.start = extreme(times, Math.min, Infinity) || 0;
    this.end = this.last || extreme(times, Math.max, 0) || 1;
  }

  // If the page has the packets of a time: of a long run it keeps those near losses.
  isKept(time) {
    return !this.kept || this.kept.some(([from, to]) => from <= time && time <= to);
  }

  // When a packet leaves or arrives; only steps ask for it.
  get moments() {
    this.steps ??= momentsOf(this);
    return this.steps;
  }

  isLost(at) {
    return this.arrived[at] === Infinity;
  }

  isCall(at) {
    return this.data.flow[at] === this.callFlow;
  }

  get isPlaced() {
    return this.shape.rate > 0;
  }

  // When each packet joins the queue, and when its first bit leaves it, as a FIFO has it.
  queueTimes() {
    const { delay, rate } = this.shape;
    const { sent, length } = this.data;
    const wire = (at) => ((length[at] + HEADERS) * 8) / rate;
    this.join = Float64Array.from(sent, (time) => time + delay);
    this.leave = Float64Array.from(this.arrived, (time, at) =>
      time === Infinity ? Infinity : Math.max(this.join[at], time - wire(at)),
    );
    const came = Array.from(sent.keys()).filter((at) => !this.isLost(at));
    this.joins = Float64Array.from(came, (at) => this.join[at]).sort();
    this.leaves = Float64Array.from(came, (at) => this.leave[at]).sort();
    let left = 0; // of those that joined
    const deepest = (most, time, at) => {
      while (this.leaves[left] <= time + 1e-9) left += 1;
      return Math.max(most, at + 1 - left);
    };
    this.mostWaiting = this.isPlaced ? this.joins.reduce(deepest, 0) : 0;
  }

  // How many packets wait at a time.
  waiting(time) {
    return lowerBound(this.joins, time + 1e-9) - lowerBound(this.leaves, time + 1e-9);
  }

  acksAtSender() {
    const known = Array.from(this.ackArrived.keys()).filter((at) => this.ackArrived[at] < Infinity);
    this.heard = known.sort((one, other) => this.ackArrived[one] - this.ackArrived[other]);
    this.heardAt = Float64Array.from(this.heard, (at) => this.ackArrived[at]);
  }

  // The data packets on their way, and those that fall, as places.
  flying(time) {
    const { sent } = this.data;
    const from = lowerBound(sent, time - Math.max(this.longest, this.fall + this.shape.delay));
    const found = [];
    for (let at = from; at < this.count && sent[at] <= time; at += 1) {
      const until = this.isLost(at) ? this.fallsFrom(at) + this.fall : this.arrived[at];
      if (time < until) found.push(at);
    }
    return found;
  }

  flyingAcks(time) {
    const { sent } = this.acks;
    const found = [];
    const from = lowerBound(sent, time - Math.max(this.longestAck, this.fall));
    for (let at = from; at < sent.length && sent[at] <= time; at += 1) {
      const until = this.ackArrived[at] < Infinity ? this.ackArrived[at] : sent[at] + this.fall;
      if (time < until) found.push(at);
    }
    return found;
  }

  isIdle(time) {
    return !this.flying(time).length && !this.flyingAcks(time).length;
  }

  // Where a lost packet died, as far as delay, rate and queue tell: "mouth", "queue" or "unknown".
  placeOfLoss(at) {
    if (!this.isPlaced) return "unknown";
    const isFull = this.waiting(this.join[at]) >= this.shape.queue;
    if (isFull) return "queue";
    return this.shape.loss ? "mouth" : "unknown";
  }

  // When it begins to fall.
  fallsFrom(at) {
    return this.placeOfLoss(at) === "queue" ? this.join[at] : this.data.sent[at];
  }

  // The receiver of a flow after each arrival: the byte that it wants, and what it holds above.
  receiver(flow) {
    if (!this.received.has(flow)) this.received.set(flow, receiverOf(this, flow));
    return this.received.get(flow);
  }

  held(flow, time) {
    const { times, wanted, held } = this.receiver(flow);
    const at = lowerBound(times, time + 1e-9) - 1;
    return at < 0 ? { wanted: 1, held: [] } : { wanted: wanted[at], held: held[at] };
  }

  // The highest ACK of a flow that the sender has at a time.
  acknowledged(flow, time) {
    let highest = 1;
    for (let at = lowerBound(this.heardAt, time + 1e-9) - 1; at >= 0; at -= 1) {
      if (this.acks.flow[this.heard[at]] !== flow) continue;
      highest = Math.max(highest, this.acks.acknowledgement[this.heard[at]]);
      if (this.heardAt[at] < time - this.trip) break;
    }
    return highest;
  }

  // The bytes of a flow that are sent and not acknowledged: with each packet and ACK another number.
  unacknowledged(flow, time) {
    const at = this.newestSent(flow, time);
    return at === undefined ? 0 : Math.max(0, this.sentUpTo[at] - this.acknowledged(flow, time));
  }

  flowOf(row) {
    return this.samples.flow ? this.samples.flow[row] : 0;
  }

  // The rows of a flow's samples before and after a time.
  samplesAround(flow, time) {
    const { length } = this.samples.time;
    let after = lowerBound(this.samples.time, time + 1e-9);
    let before = after - 1;
    while (before >= 0 && this.flowOf(before) !== flow) before -= 1;
    while (after < length && this.flowOf(after) !== flow) after += 1;
    return [before < 0 ? undefined : before, after < length ? after : undefined];
  }

  // The newest sample of the window, if it is not older than a round trip.
  window(flow, time) {
    const [before] = this.samplesAround(flow, time);
    const isFresh = before !== undefined && time - this.samples.time[before] <= this.trip;
    return isFresh ? this.samples.window[before] : null;
  }

  // If a loss, a mark or a retransmission of the round trip before, or since, may have cut the window.
  fell(flow, since, until) {
    const { sent, marked } = this.data;
    for (let at = lowerBound(sent, since - this.trip); at < this.count && sent[at] <= until; at += 1) {
      const isTrouble = this.isAgain[at] || this.isLost(at) || marked[at];
      if (this.data.flow[at] === flow && isTrouble) return true;
    }
    return false;
  }

  // Bytes above the highest ACK that SACK had reported with this answer.
  reported(flow, answer) {
    if (answer === undefined || !this.blocksOf.size) return 0;
    const { held } = this.held(flow, this.acks.sent[answer]);
    return held.reduce((sum, [low, high]) => sum + high - low, 0);
  }

  // The newest of a flow's packets that was sent, or of its ACKs that was heard, at a time.
  newestSent(flow, time) {
    let at = lowerBound(this.data.sent, time + 1e-9) - 1;
    while (at >= 0 && this.data.flow[at] !== flow) at -= 1;
    return at < 0 ? undefined : at;
  }

  newestAck(flow, time) {
    let at = lowerBound(this.heardAt, time + 1e-9) - 1;
    while (at >= 0 && this.acks.flow[this.heard[at]] !== flow) at -= 1;
    return this.heard[at];
  }

  // The next moment at which a packet leaves, arrives or is lost, in direction `way`.
  moment(time, way) {
    const at =
      way > 0 ? lowerBound(this.moments, time + 1e-7) : lowerBound(this.moments, time - 1e-7) - 1;
    return this.moments[at];
  }
}

// The end of each flow's data after each packet.
function highestEnds({ sequence, length, flow }) {
  const highest = new Map();
  return Float64Array.from(sequence, (first, at) => {
    const end = Math.max(highest.get(flow[at]) || 1, first + length[at]);
    highest.set(flow[at], end);
    return end;
  });
}

function arrivalsOf({ arrived }) {
  return Float64Array.from(arrived, (time) => (time < 0 ? Infinity : time));
}

function longestTrip(sent, arrived) {
  let longest = 0.001;
  for (let at = 0; at < sent.length; at += 1) {
    if (arrived[at] < Infinity) longest = Math.max(longest, arrived[at] - sent[at]);
  }
  return longest;
}

function extreme(columns, of, from) {
  const among = (found, time) => (time < Infinity ? of(found, time) : found);
  const found = columns.reduce((best, column) => column.reduce(among, best), from);
  return found < Infinity ? found : 0;
}

function momentsOf({ data, acks, arrived, ackArrived }) {
  const every = [...data.sent, ...acks.sent, ...arrived, ...ackArrived];
  return Float64Array.from(new Set(every.filter((time) => time < Infinity))).sort();
}

function receiverOf(model, flow) {
  const { data, arrived } = model;
  const mine = Array.from(data.sent.keys()).filter(
    (at) => data.flow[at] === flow && arrived[at] < Infinity && data.length[at],
  );
  mine.sort((one, other) => arrived[one] - arrived[other]);
  const made = { times: [], wanted: [], held: [], places: mine };
  let [wanted, held] = [1, []];
  for (const at of mine) {
    [wanted, held] = withBlock(wanted, held, data.sequence[at], data.sequence[at] + data.length[at]);
    made.times.push(arrived[at]);
    made.wanted.push(wanted);
    made.held.push(held);
  }
  made.times = Float64Array.from(made.times);
  return made;
}

// What the receiver wants and holds once [left, right) has come.
function withBlock(wanted, held, left, right) {
  if (right <= wanted) return [wanted, held];
  let [low, high] = [Math.max(left, wanted), right];
  const others = [];
  for (const block of held) {
    if (block[1] < low || block[0] > high) others.push(block);
    else [low, high] = [Math.min(low, block[0]), Math.max(high, block[1])];
  }
  if (low <= wanted) return [high, others];
  others.push([low, high]);
  return [wanted, others.sort((one, other) => one[0] - other[0])];
}
