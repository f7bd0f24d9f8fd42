// One strip: sender, pipe, queue, receiver, and the packets between them at a time.

const STRIP = { high: 158, low: 126, narrow: 600 }; // px
const SLOT = 13; // px
const MOST_SLOTS = 18; // that are drawn one by one
const MOST_DOTS = 300; // that are drawn one by one; above, columns by their number
const LECTURE = 1.6 / 1080; // times as large for a line of a projector's screen
const WIDE_SCREEN = 1.5; // times as wide as high, from where strips have their whole height
const STACK = 4; // dots above each other at one place

const COLOURS = {
  data: "#0072B2",
  ack: "#009E73",
  again: "#D55E00",
  sack: "#CC79A7",
  marked: "#E69F00",
  lost: "#000000",
  call: "#8A3FA0",
  faded: "#666666",
};

function isLecture() {
  return document.documentElement.classList.contains("lecture");
}

class StageStrip {
  constructor(model, onPick) {
    Object.assign(this, { model, dots: [], wide: 0, onPick });
    this.box = element("div", { className: "stage-strip" });
    const name = model.title || model.label;
    this.title = element("p", { className: "stage-name", textContent: name });
    this.canvas = element("canvas", {});
    this.canvas.setAttribute("role", "img");
    this.box.append(this.title, this.canvas);
    this.title.hidden = !name;
    this.canvas.addEventListener("click", (event) => this.pick(event));
  }

  // Places of the parts, from the model's shape and the width: time is length.
  layout() {
    const isNarrow = this.wide < STRIP.narrow;
    const [sender, receiver] = isNarrow ? [66, 74] : [122, 136];
    const [left, right] = [sender, this.wide - receiver];
    const { innerWidth, innerHeight } = window;
    const isSquare = isLecture() && innerWidth < WIDE_SCREEN * innerHeight;
    const high = isNarrow || isSquare ? STRIP.low : STRIP.high;
    const lanes = { data: high * 0.4, ack: high * 0.8 };
    const common = { isNarrow, left, right, high, ...lanes, radius: isNarrow ? 3.5 : 4.6 };
    const { model } = this;
    if (!model.isPlaced) return { ...common, queue: right, wire: right, slots: 0, each: 1 };
    const most = model.shape.drawn || model.mostWaiting;
    const longest = Math.max(3, Math.min(MOST_SLOTS, most, isNarrow ? 7 : MOST_SLOTS));
    const each = Math.max(1, Math.ceil(most / longest));
    const slots = model.shape.drawn ? Math.ceil(model.shape.queue / each) : longest;
    const room = right - left - longest * SLOT;
    const serial = (1514 * 8) / model.shape.rate;
    const share = Math.min(0.85, Math.max(0.25, model.shape.delay / (model.shape.delay + serial)));
    const queue = left + room * share;
    return { ...common, queue, wire: queue + slots * SLOT, slots, each };
  }

  draw(time, selected) {
    const { model } = this;
    this.size = isLecture() ? LECTURE * window.innerHeight : 1;
    this.wide = paper.forced ? PAPER_WIDTH : this.canvas.clientWidth / this.size || this.wide;
    if (!this.wide) return;
    const place = this.layout();
    const pen = this.pen(place.high);
    this.dots = [];
    this.drawPipes(pen, place, time);
    this.drawEnds(pen, place, time);
    if (!model.isKept(time)) {
      this.said = this.sayNothingKept(pen, place, time);
      return;
    }
    const flying = model.flying(time);
    const acks = model.flyingAcks(time);
    this.drawData(pen, place, time, flying, selected);
    this.drawAcks(pen, place, time, acks);
    this.said = this.sentence(time, flying, acks);
    this.canvas.setAttribute("aria-label", this.said);
  }

  sayNothingKept(pen, place, time) {
    const words = "Packets of this time are not in this page, which keeps those near losses";
    pen.textAlign = "center";
    pen.fillStyle = theme().paper;
    pen.fillRect(place.left, place.data - 32, place.right - place.left, 62);
    pen.fillStyle = theme().ink;
    fitted(pen, words, (place.left + place.right) / 2, place.data, place.right - place.left);
    return `${time.toFixed(4)} s. ${words}.`;
  }

  pen(high) {
    const ratio = paper.forced ? 2 : Math.max(1, window.devicePixelRatio || 1);
    const scale = ratio * this.size;
    const [across, down] = [this.wide, high].map((length) => Math.round(length * scale));
    if (this.canvas.width !== across || this.canvas.height !== down) {
      Object.assign(this.canvas, { width: across, height: down });
      this.canvas.style.height = `${high * this.size}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.reset();
    pen.scale(scale, scale);
    Object.assign(pen, { font: FONT, textBaseline: "middle" });
    return pen;
  }

  drawPipes(pen, place, time) {
    const { left, right, queue, wire, data, ack } = place;
    const { model } = this;
    const { shape } = model;
    pen.fillStyle = theme().grid;
    const thin = model.isPlaced ? pipeWidth(shape.rate) : 26;
    pen.strokeStyle = theme().axis; // their fill alone is too pale to be seen by all
    for (const pipe of [
      [left, data - 13, queue - left, 26],
      [wire, data - thin / 2, right - wire, thin],
      [left, ack - 5, right - left, 10],
    ]) {
      pen.fillRect(...pipe);
      pen.strokeRect(...pipe);
    }
    pen.fillStyle = theme().ink;
    pen.textAlign = "center";
    const above = data - 24;
    if (!model.isPlaced) {
      pen.fillText((shape.words || []).join("; ") || shape.nodes.join(" – "), (left + right) / 2, above);
      return;
    }
    const middle = (from, to, words) => fitted(pen, words, (from + to) / 2, above, to - from - 6);
    middle(left, queue - 12, `delay ${secondsText(shape.delay)}`);
    const waiting = model.waiting(time);
    const inQueue = `queue ${waiting} of ${shape.queue}`;
    if (shape.drawn) pen.fillText(inQueue, Math.min((queue + wire) / 2, right - 45), data + 24);
    else middle(queue - 12, wire + 12, inQueue);
    const rate = rateText(shape.rate);
    if (shape.drawn || pen.measureText(rate).width < right - wire - 12) middle(wire + 12, right, rate);
    else pen.fillText(rate, right - pen.measureText(rate).width / 2, data + 26);
    pen.strokeStyle = theme().axis;
    pen.strokeRect(queue, data - 15, wire - queue, 30);
    pen.globalAlpha = 0.5;
    for (let slot = 0; slot < place.slots; slot += 1) {
      pen.strokeRect(wire - (slot + 1) * SLOT + 2, data - 9, SLOT - 4, 18);
    }
    pen.globalAlpha = 1;
  }

  drawEnds(pen, place, time) {
    const { left, right, high } = place;
    const { nodes } = this.model.shape;
    pen.strokeStyle = theme().axis;
    pen.strokeRect(0.5, 14.5, left - 6, high - 30);
    pen.strokeRect(right + 5.5, 14.5, this.wide - right - 6, high - 30);
    pen.fillStyle = theme().ink;
    pen.textAlign = "left";
    const apart = place.isNarrow ? 15 : 16;
    const write = (lines, x, wide) =>
      lines.forEach((words, at) => fitted(pen, words, x, 28 + apart * at, wide, at === 0));
    write([nodes[0], ...this.senderLines(time, place)], 7, left - 18);
    const last = nodes[nodes.length - 1];
    write([last, ...this.receiverLines(time, place)], right + 12, this.wide - right - 18);
    this.drawHeld(pen, place, time);
  }

  senderLines(time, place) {
    const { model } = this;
    const flows = model.flows || ["sender"];
    const windows = flows.map((_name, flow) => model.window(flow, time));
    const kilo = (window) => (window === null ? "–" : `${Math.round(window / 1000)} kB`);
    if (flows.length > 1) {
      const each = flows.slice(0, 4).map((name, flow) => `${name} ${kilo(windows[flow])}`);
      return windows.some((window) => window !== null) ? ["windows", ...each] : flows.slice(0, 4);
    }
    const onTheWay = kilobytes(model.unacknowledged(0, time));
    const own = windows[0] === null ? [] : inLines(place, "window", kilo(windows[0]));
    return [...own, ...inLines(place, "not ACKed", onTheWay)];
  }

  receiverLines(time, place) {
    const flows = this.model.flows || ["sender"];
    if (flows.length > 1) return [];
    const { wanted, held } = this.model.held(0, time);
    const above = held.reduce((sum, [low, high]) => sum + high - low, 0);
    const whole = inLines(place, "in order", kilobytes(wanted - 1));
    return above ? [...whole, ...inLines(place, "after a gap", kilobytes(above))] : whole;
  }

  // What the receiver holds above a gap, hatched; the gap is open.
  drawHeld(pen, place, time) {
    if ((this.model.flows || [0]).length > 1) return;
    const { wanted, held } = this.model.held(0, time);
    if (!held.length) return;
    const [x, wide] = [place.right + 12, this.wide - place.right - 24];
    const y = place.isNarrow ? place.high - 29 : 78;
    const most = held[held.length - 1][1] - wanted;
    const isTold = this.model.blocks.ack.length > 0;
    pen.strokeStyle = coloured(COLOURS.again);
    pen.strokeRect(x, y, wide, 12);
    for (const [low, high] of held) {
      const [from, to] = [low, high].map((edge) => x + ((edge - wanted) / most) * wide);
      hatch(pen, from, y, Math.max(2, to - from), 12, coloured(isTold ? COLOURS.sack : COLOURS.faded));
    }
  }

  // Where a data packet is: along the pipe, in a slot, or on the wire; a lost one falls.
  placeOf(at, time, place, ranks) {
    const { model } = this;
    const sent = model.data.sent[at];
    if (model.isLost(at)) {
      const from = model.fallsFrom(at);
      const isQueue = model.placeOfLoss(at) === "queue";
      const share = isQueue && time < from ? (time - sent) / (from - sent || 1) : 0;
      const x = isQueue ? place.left + (place.queue - place.left) * (time < from ? share : 1) : place.left + 8;
      const fallen = Math.max(0, (time - from) / model.fall);
      return { x, y: place.data + fallen * (place.ack - place.data - 14), fallen };
    }
    if (!model.isPlaced) {
      const share = (time - sent) / (model.arrived[at] - sent || 1);
      return { x: place.left + share * (place.right - place.left), y: place.data };
    }
    if (time < model.join[at]) {
      const share = (time - sent) / (model.shape.delay || 1);
      return { x: place.left + share * (place.queue - place.left), y: place.data };
    }
    if (time < model.leave[at]) {
      const slot = this.slotOf(ranks.get(at), place.each);
      return { x: place.wire - slot * SLOT, y: place.data, isWaiting: true };
    }
    const share = (time - model.leave[at]) / (model.arrived[at] - model.leave[at] || 1);
    return { x: place.wire + share * (place.right - place.wire), y: place.data };
  }

  // Where in the queue, in slots from its end. Queues of one scale fill evenly, not by slots.
  slotOf(rank, each) {
    return this.model.shape.drawn ? (rank + 0.5) / each : Math.floor(rank / each) + 0.5;
  }

  drawData(pen, place, time, flying, selected) {
    const { model } = this;
    const waits = (at) => model.join[at] <= time && time < model.leave[at] && !model.isLost(at);
    const waiting = model.isPlaced ? flying.filter(waits) : [];
    const ranks = new Map(waiting.map((at, rank) => [at, rank]));
    const isDense = flying.length > MOST_DOTS;
    const stacks = new Map();
    const special = [];
    for (const at of flying) {
      const spot = this.placeOf(at, time, place, ranks);
      const isSpecial =
        model.isAgain[at] || model.isLost(at) || model.data.marked[at] || model.isCall(at);
      if (isSpecial || !isDense) special.push([at, spot]);
      if (!isSpecial) count(stacks, Math.round(spot.x / 3) * 3, spot);
    }
    if (isDense) drawDensity(pen, stacks, place, coloured(COLOURS.data));
    const heights = new Map();
    for (const [at, spot] of special.slice(0, 2 * MOST_DOTS)) {
      this.drawPacket(pen, place, at, stacked(heights, spot, place), selected);
    }
  }

  drawPacket(pen, place, at, { x, y, fallen, isWaiting }, selected) {
    const { model } = this;
    const { radius } = place;
    const colour = this.colourOf(at);
    pen.fillStyle = pen.strokeStyle = colour;
    if (model.isCall(at)) drawCall(pen, x, y, radius, isWaiting && model.shape.drawn);
    else if (model.isAgain[at]) this.drawGlow(pen, x, y, radius, colour);
    else if (model.data.marked[at]) drawMark(pen, "diamond", x, y, radius + 1);
    else drawMark(pen, "circle", x, y, radius);
    if (fallen !== undefined && fallen > 0) {
      pen.strokeStyle = coloured(COLOURS.lost);
      pen.globalAlpha = Math.max(0.25, 1 - fallen);
      drawMark(pen, "cross", x, y, radius + 2);
      pen.globalAlpha = 1;
    }
    if (at === selected) {
      pen.strokeStyle = theme().ink;
      pen.lineWidth = 2;
      drawMark(pen, "ring", x, y, radius + 8);
    }
    this.dots.push({ x, y, at, isAck: false });
  }

  colourOf(at) {
    const { model } = this;
    if (model.isCall(at)) return coloured(COLOURS.call);
    if (model.isAgain[at]) return coloured(COLOURS.again);
    if (model.data.marked[at]) return coloured(COLOURS.marked);
    return coloured((model.flows || []).length > 1 ? SERIES[model.data.flow[at]] : COLOURS.data);
  }

  drawGlow(pen, x, y, radius, colour) {
    pen.globalAlpha = 0.3;
    drawMark(pen, "circle", x, y, radius + 7);
    pen.globalAlpha = 1;
    drawMark(pen, "circle", x, y, radius + 3);
    Object.assign(pen, { fillStyle: theme().paper, textAlign: "center", font: `bold 10px ${FAMILY}` });
    pen.fillText("R", x, y + 0.5);
    Object.assign(pen, { font: FONT, fillStyle: colour });
  }

  drawAcks(pen, place, time, acks) {
    const { model } = this;
    const isDense = acks.length > MOST_DOTS;
    const stacks = new Map();
    for (const at of acks) {
      const sent = model.acks.sent[at];
      const isLost = model.ackArrived[at] === Infinity;
      const share = isLost ? 0.02 : (time - sent) / (model.ackArrived[at] - sent || 1);
      const fallen = isLost ? (time - sent) / model.fall : 0;
      const x = place.right - share * (place.right - place.left);
      const y = place.ack + fallen * (place.high - place.ack - 6);
      if (isDense) {
        count(stacks, Math.round(x / 3) * 3, { x });
        continue;
      }
      const hasSack = model.blocksOf.has(at);
      pen.fillStyle = coloured(hasSack ? COLOURS.sack : COLOURS.ack);
      arrowhead(pen, x, y, place.radius + 1, hasSack);
      if (isLost) {
        pen.strokeStyle = coloured(COLOURS.lost);
        drawMark(pen, "cross", x, y, place.radius + 1);
      }
      this.dots.push({ x, y, at, isAck: true });
    }
    if (isDense) drawDensity(pen, stacks, { data: place.ack }, coloured(COLOURS.ack));
  }

  sentence(time, flying, acks) {
    const { model } = this;
    const going = flying.filter((at) => !model.isLost(at)).length;
    const parts = [`${going} data packets and ${acks.length} ACKs are on the way`];
    if (model.isPlaced) parts.push(`${model.waiting(time)} of ${model.shape.queue} slots are full`);
    const event = this.eventAt(time);
    const name = model.label ? `${model.label}: ` : "";
    return `${time.toFixed(4)} s. ${event}${name}${parts.join("; ")}.`;
  }

  // What happens in this very moment, in words.
  eventAt(time) {
    const { model } = this;
    const at = lowerBound(model.data.sent, time - 1e-7);
    if (at < model.count && Math.abs(model.data.sent[at] - time) < 1e-6) {
      const what = model.isAgain[at] ? "is sent again" : "leaves the sender";
      return `Packet ${at + 1} ${what}${model.isLost(at) ? " and will be lost" : ""}. `;
    }
    const heard = lowerBound(model.heardAt, time - 1e-7);
    if (heard < model.heardAt.length && Math.abs(model.heardAt[heard] - time) < 1e-6) {
      return "An ACK reaches the sender. ";
    }
    return "";
  }

  pick(event) {
    const near = event.pointerType === "touch" ? 24 : 14;
    const [across, down] = [event.offsetX, event.offsetY].map((place) => place / this.size);
    const away = ({ x, y }) => Math.hypot(x - across, y - down);
    const best = this.dots.reduce((one, dot) => (one && away(one) <= away(dot) ? one : dot), null);
    this.onPick(this, best && away(best) <= near ? best : null);
  }
}

const FAMILY = "system-ui, sans-serif";

// Thickness by the logarithm of the rate.
function pipeWidth(rate) {
  return 4 + 20 * Math.min(1, Math.max(0, (Math.log10(rate) - 5) / 4));
}

function rateText(rate) {
  const [prefix, size] = prefixFor("bit/s", rate);
  return `${Number((rate / size).toPrecision(3))} ${prefix}bit/s`;
}

function kilobytes(count) {
  return `${count < 9950 ? (count / 1000).toFixed(1) : Math.round(count / 1000)} kB`;
}

// A narrow box has a line for the name and one for the value.
function inLines(place, name, value) {
  return place.isNarrow ? [name, value] : [`${name} ${value}`];
}

function fitted(pen, words, x, y, room, isBold = false) {
  if (isBold) pen.font = `bold ${FONT}`;
  if (room > 14) pen.fillText(words, x, y, room);
  if (isBold) pen.font = FONT;
}

function count(stacks, column, spot) {
  stacks.set(column, { ...spot, x: column, count: (stacks.get(column)?.count || 0) + 1 });
}

// Dots at one place stand above each other, up to STACK; the others lie on the last.
function stacked(heights, spot, place) {
  if (spot.fallen !== undefined || spot.isWaiting) return spot;
  const column = Math.round(spot.x / 4);
  const level = heights.get(column) || 0;
  heights.set(column, level + 1);
  const step = Math.min(level, STACK);
  const side = step % 2 ? 1 : -1;
  return { ...spot, y: place.data + side * Math.ceil(step / 2) * (place.radius + 1) };
}

function drawDensity(pen, stacks, place, colour) {
  const most = Math.max(...Array.from(stacks.values(), (stack) => stack.count));
  pen.fillStyle = colour;
  for (const { x, count: number } of stacks.values()) {
    pen.globalAlpha = 0.25 + (0.75 * number) / most;
    pen.fillRect(x - 1.5, place.data - 8, 3, 16);
  }
  pen.globalAlpha = 1;
}

// A square with a rim; an upright stroke among many waiting packets.
function drawCall(pen, x, y, radius, isThin = false) {
  const side = 2 * radius + 3;
  const [wide, high] = isThin ? [4, 24] : [side, side];
  pen.fillRect(x - wide / 2, y - high / 2, wide, high);
  pen.strokeStyle = theme().paper;
  pen.strokeRect(x - wide / 2, y - high / 2, wide, high);
}

// One with SACK has a bar, which also grey paper shows.
function arrowhead(pen, x, y, size, hasBar = false) {
  if (hasBar) pen.fillRect(x + size, y - size, size / 2, 2 * size);
  pen.beginPath();
  pen.moveTo(x - size, y);
  pen.lineTo(x + size * 0.7, y - size * 0.8);
  pen.lineTo(x + size * 0.7, y + size * 0.8);
  pen.closePath();
  pen.fill();
}

function hatch(pen, x, y, wide, high, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, wide, high);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let at = -high; at < wide; at += 4) {
    pen.moveTo(x + at, y + high);
    pen.lineTo(x + at + high, y);
  }
  pen.stroke();
  pen.restore();
}
