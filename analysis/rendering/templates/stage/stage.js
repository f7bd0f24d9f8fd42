// The stage: one strip a run, with one playhead that all graphs over time share.
//
//   const stage = new Stage(container, board, { scale });   // a board's x times scale is in seconds
//   stage.show(models);                                     // replaces what is there
//   stage.go(time); stage.step(1); stage.play(true); stage.why();

const SPEEDS = [[0.001, "1/1000"], [0.01, "1/100"], [0.03, "1/30"], [0.1, "1/10"], [1, "real time"]];
const SLOWER = 0.25; // of the speed, near a loss
const CALM = 600; // ms between two steps with reduced motion

class Stage {
  constructor(container, board, { scale = 1, hasCall = false } = {}) {
    Object.assign(this, { container, board, scale, hasCall, strips: [], time: 0, isPlaying: false });
    this.onRest = null; // called when the playhead rests
    this.selected = null;
    this.speed = 0.1;
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.build();
    board.onPlayhead = (x) => this.go(x * scale, true);
  }

  build() {
    this.box = element("div", { className: "stage", tabIndex: 0 });
    this.box.setAttribute("role", "group");
    this.box.setAttribute("aria-label", "The stage: packets on their way. Space plays, arrows step.");
    this.clock = element("output", { className: "stage-clock" });
    this.playing = stageButton("\u25b6 Play", () => this.play(!this.isPlaying));
    this.bar = element("div", { className: "stage-bar" });
    this.bar.append(
      this.playing,
      stageButton("\u25c2", () => this.step(-1), "One packet back"),
      stageButton("\u25b8", () => this.step(1), "One packet on"),
      stageButton("Next loss", () => this.nextLoss()),
      stageButton("Why?", () => this.why()),
      this.clock,
      this.speedChoice(),
      stageKey(this.hasCall),
    );
    this.lanes = element("div", { className: "stage-lanes" });
    this.panel = element("section", { className: "stage-why", hidden: true });
    this.panel.setAttribute("aria-live", "polite");
    this.said = element("p", { className: "stage-said" });
    this.said.setAttribute("role", "status");
    this.box.append(this.bar, this.lanes, this.said);
    this.container.replaceChildren(this.box, this.panel);
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    this.ruler = new ResizeObserver(() => this.drawSoon());
    this.ruler.observe(this.lanes);
    darkness.addEventListener("change", () => this.drawSoon());
    // After the board, which knows whether it is for paper.
    for (const kind of ["beforeprint", "afterprint"]) window.addEventListener(kind, () => this.draw());
  }

  speedChoice() {
    const choice = element("select", {});
    for (const [value, words] of SPEEDS) {
      choice.append(element("option", { value, textContent: words, selected: value === this.speed }));
    }
    choice.addEventListener("change", () => (this.speed = Number(choice.value)));
    const whole = element("label", { textContent: "speed " });
    whole.append(choice);
    return whole;
  }

  show(models) {
    this.strips = models.map((model) => new StageStrip(model, (strip, dot) => this.pick(strip, dot)));
    this.lanes.replaceChildren(...this.strips.map((strip) => strip.box));
    this.start = Math.min(...models.map((model) => model.start));
    this.end = Math.max(...models.map((model) => model.end));
    this.losses = lossesOf(models);
    this.close();
    this.go(Math.min(Math.max(this.time, this.start), this.end));
  }

  get models() {
    return this.strips.map((strip) => strip.model);
  }

  go(time, isQuiet = false) {
    this.time = Math.max(this.start, Math.min(this.end, time));
    this.isQuiet = isQuiet;
    this.board.setPlayhead(this.time / this.scale);
    this.drawSoon();
  }

  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    if (!this.strips.length) return;
    this.clock.textContent = `${this.time.toFixed(4)} s`;
    for (const strip of this.strips) {
      const isChosen = this.selected && this.selected.strip === strip;
      strip.draw(this.time, isChosen ? this.selected.at : null);
    }
    // Read aloud only at rest: a playhead that moves would be interrupted by its own sentences.
    this.said.setAttribute("aria-live", this.isPlaying || this.isQuiet ? "off" : "polite");
    this.said.textContent = this.sentence();
    if (!this.isPlaying && this.onRest) this.onRest();
    this.markClause();
  }

  sentence() {
    return this.strips.map((strip) => strip.said || "").join(" ");
  }

  step(way) {
    this.play(false);
    const next = this.models.map((model) => model.moment(this.time, way));
    const known = next.filter((time) => time !== undefined);
    if (known.length) this.go(way > 0 ? Math.min(...known) : Math.max(...known));
    this.follow();
  }

  nextLoss() {
    this.play(false);
    const at = lowerBound(this.losses, this.time + 1e-6);
    if (at < this.losses.length) this.go(this.losses[at]);
    this.follow();
  }

  // When data is first sent again; a lost SYN shows an empty stage.
  firstRepair() {
    const times = this.models.flatMap(({ data, isAgain }) =>
      Array.from(data.sent).filter((_, at) => isAgain[at] && data.length[at]),
    );
    return times.length ? Math.min(...times) : this.start;
  }

  lastLoss() {
    this.play(false);
    const at = lowerBound(this.losses, this.time - 1e-6) - 1;
    if (at >= 0) this.go(this.losses[at]);
    this.follow();
  }

  play(isOn) {
    this.isPlaying = isOn;
    this.playing.textContent = isOn ? "\u275a\u275a Pause" : "\u25b6 Play";
    if (!isOn) return;
    if (this.time >= this.end) this.time = this.start;
    this.before = performance.now();
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    if (!this.isPlaying) return;
    const passed = Math.min(100, now - this.before) / 1000;
    this.before = now;
    if (this.calm.matches) this.calmStep();
    else this.go(this.time + passed * this.speed * (this.isNearLoss() ? SLOWER : 1));
    this.follow();
    if (this.time >= this.end) {
      this.play(false);
      return;
    }
    if (this.calm.matches) window.setTimeout(() => this.frame(performance.now()), CALM);
    else requestAnimationFrame((next) => this.frame(next));
  }

  // From packet to packet, for those who want no motion.
  calmStep() {
    const next = this.models.map((model) => model.moment(this.time, 1));
    this.go(Math.min(this.end, ...next.filter((time) => time !== undefined)));
  }

  isNearLoss() {
    const [model] = this.models;
    const at = lowerBound(this.losses, this.time - model.fall);
    return at < this.losses.length && this.losses[at] < this.time + model.fall / 4;
  }

  // A zoomed time axis moves along.
  follow() {
    const [left, right] = this.board.range();
    const x = this.time / this.scale;
    if (this.board.span.isWhole || (x >= left && x <= right)) return;
    const wide = right - left;
    this.board.zoom(x - wide * 0.2, x + wide * 0.8);
  }

  pick(strip, dot) {
    this.play(false);
    if (dot) this.explain(strip, dot.at, dot.isAck);
    else this.why();
  }

  // Of a retransmission or loss in the last round trip, of the pause, or of what limits the sender.
  why() {
    if (this.models.every((model) => model.isIdle(this.time))) {
      this.tell(this.strips[0], whyPause(this.models[0], this.time), null);
      return;
    }
    const sentAt = ([strip, at]) => strip.model.data.sent[at];
    const recent = this.strips
      .map((strip) => [strip, newestTrouble(strip.model, this.time)])
      .filter(([strip, at]) => at !== undefined && sentAt([strip, at]) > this.time - strip.model.trip);
    if (recent.length) {
      recent.sort((one, other) => sentAt(other) - sentAt(one));
      this.explain(...recent[0], false);
      return;
    }
    const busy = this.strips.find(({ model }) => !model.isIdle(this.time));
    this.tell(busy, whyLimited(busy.model, this.time), null);
  }

  explain(strip, at, isAck) {
    const found = isAck ? whyAck(strip.model, at) : whyPacket(strip.model, at);
    this.tell(strip, found, isAck ? null : at);
  }

  tell(strip, { title, clauses }, at) {
    this.selected = { strip, at };
    this.clauses = clauses;
    const label = strip.model.label ? ` (${strip.model.label})` : "";
    const head = element("p", { className: "stage-title", textContent: `${title}${label}` });
    const shut = stageButton("\u00d7", () => this.close(), "Close");
    const list = element("ol", {});
    list.append(...clauses.map((clause) => this.clause(clause)));
    this.panel.replaceChildren(shut, head, list);
    this.panel.hidden = false;
    this.drawSoon();
  }

  clause({ time, look, text }) {
    const item = element("li", {});
    const button = element("button", { type: "button" });
    const when = element("small", { textContent: `${time.toFixed(4)} s` });
    item.style.setProperty("--look", coloured(COLOURS[look]));
    button.append(when, text);
    button.addEventListener("click", () => {
      this.play(false);
      this.go(time);
      this.follow();
    });
    item.append(button);
    return item;
  }

  // The clause of now stands out.
  markClause() {
    if (this.panel.hidden || !this.clauses) return;
    const past = this.clauses.filter(({ time }) => time <= this.time + 1e-6).length - 1;
    this.panel.querySelectorAll("li button").forEach((button, at) => {
      if (at === past) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
  }

  close() {
    this.selected = this.clauses = null;
    this.panel.hidden = true;
    this.drawSoon();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isOnBox = !["SELECT", "BUTTON"].includes(event.target.tagName);
    const actions = {
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Home: () => this.go(this.start),
      End: () => this.go(this.end),
      l: () => this.nextLoss(),
      w: () => this.why(),
      Escape: () => this.close(),
      ...(isOnBox ? { " ": () => this.play(!this.isPlaying) } : {}),
    };
    const action = actions[event.key];
    if (!action || event.target.tagName === "SELECT") return;
    event.preventDefault();
    action();
  }
}

function stageButton(words, action, label = "") {
  const button = element("button", { type: "button", textContent: words });
  if (label) button.setAttribute("aria-label", label);
  button.addEventListener("click", action);
  return button;
}

function lossesOf(models) {
  const every = models.flatMap((model) =>
    Array.from(model.data.sent).filter((_, at) => model.isLost(at) || model.isAgain[at]),
  );
  return Float64Array.from(every).sort();
}

function newestTrouble(model, time) {
  for (let at = lowerBound(model.data.sent, time + 1e-9) - 1; at >= 0; at -= 1) {
    if (model.isAgain[at] || model.isLost(at)) return at;
  }
  return undefined;
}

// What the signs mean, next to the controls.
function stageKey(hasCall) {
  const key = element("span", { className: "stage-key" });
  const signs = [
    ["data", (pen) => drawMark(pen, "circle", 8, 8, 5), "data"],
    ["again", (pen) => drawMark(pen, "circle", 8, 8, 7), "R sent again"],
    ["ack", (pen) => arrowhead(pen, 8, 8, 6), "ACK"],
    ["sack", (pen) => arrowhead(pen, 7, 8, 6, true), "with SACK"],
    ["marked", (pen) => drawMark(pen, "diamond", 8, 8, 6), "CE mark"],
    ["lost", (pen) => drawMark(pen, "cross", 8, 8, 5), "lost"],
  ];
  if (hasCall) signs.splice(1, 0, ["call", (pen) => drawCall(pen, 8, 8, 4), "call"]);
  for (const [look, draw, words] of signs) {
    const sample = element("canvas", { width: 32, height: 32 });
    const redraw = () => {
      const pen = sample.getContext("2d");
      pen.reset();
      pen.scale(2, 2);
      pen.fillStyle = pen.strokeStyle = coloured(COLOURS[look]);
      draw(pen);
    };
    redraw();
    darkness.addEventListener("change", redraw);
    const entry = element("span", {});
    entry.append(sample, words);
    key.append(entry);
  }
  return key;
}
