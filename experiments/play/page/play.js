// The page: two sides of settings, of which the controls move one; their runs; and the graphs.

import { ActionRow } from "./actions.js";
import { Controls } from "./controls.js";
import { Connection, offer } from "./connection.js";
import { EventList } from "./events.js";
import { GRAPHS, layersOf } from "./graphs.js";
import { Tour } from "./lessons.js";
import { fromLink, toLink } from "./link.js";
import { element, PlotBoard } from "./plots.js";
import { drawable, listenToDrawing, predictionLayer } from "./prediction.js";
import { Run } from "./run.js";
import { download, sharedPage } from "./share.js";
import { LiveStage } from "./stage.js";
import { parsed } from "./values.js";
import { comparison, latency, summary } from "./words.js";

const SEEDS = 20;
const PATIENCE = 300; // ms of a run's samples until a dragged slider's next value replaces it
const WHILE_COMING = 100; // ms between two drawings of samples: the guest needs the processor too
const AT_REST = 300; // ms after a run: nothing else is to be drawn then
const PALE_AFTER = 400; // ms that a graph shows the run before as if it were of now
// Kinds of messages behind which the rest of a run comes at once: what they add is drawn with it.
const SOON_MORE = [
  "accepted", "rates", "queue", "drops", "packets", "event", "kept", "sent", "acks", "blocks",
];

const FULL_FRAME = 1514 * 8; // bits

const at = (id) => document.getElementById(id);

class Play {
  constructor(offered) {
    Object.assign(this, fromLink(offered.link || window.location.hash, offered.defaults));
    Object.assign(this, { offered, number: 0, isWaiting: false, drawn: 0 });
    this.runs = { A: null, B: null };
    this.shown = { A: {}, B: {} };
    this.bands = { A: null, B: null };
    this.board = new PlotBoard(at("graphs"), { onPick: (mark) => this.pick(mark) });
    this.stage = new LiveStage(at("stage"), this.board, offered.kinds);
    this.controls = new Controls(at("controls"), offered, (settings, isDragging) => {
      this.sides[this.moved] = settings;
      this.stage.preview(settings, this.compared ? this.moved : "", this.sides[this.other]);
      this.play(isDragging);
    });
    this.tour = new Tour(at("tour"), {
      run: (step, before) => this.runStep(step, before),
      left: () => this.leaveLesson(),
      turned: () => this.showStep(),
      predicted: (value) => this.predict(value),
    });
    this.actions = new ActionRow(at("actions"), SEEDS, {
      compare: () => this.compare(),
      move: (side) => this.moveSide(side),
      seeds: () => this.askSeeds(),
      save: () => this.save(),
      command: () => this.command(),
      link: () => this.link(),
      share: () => this.share(),
    });
    this.events = new EventList((time) => this.goTo(time));
    this.listen();
    this.offerLessons();
  }

  async start() {
    await this.board.show(GRAPHS, [0, this.duration()]);
    for (const plot of this.board.plots) {
      const isAsking = () => this.tour.isAsking && this.predictionIn(plot.graph.key);
      listenToDrawing(plot, isAsking, (value) => {
        this.tour.draws(value);
        this.predict(value);
      });
    }
    this.controls.show(this.sides[this.moved]);
    this.connection = new Connection((message) => this.hear(message), (why) => this.lose(why));
    const name = this.lesson || this.offered.first;
    const lesson = this.offered.lessons.find((offered) => offered.name === name);
    if (lesson) {
      this.chooseLesson(lesson, this.step);
      return;
    }
    if (this.compared) this.send(this.other);
    this.play();
  }

  get other() {
    return this.moved === "A" ? "B" : "A";
  }

  duration() {
    const settings = this.tour.isAsking ? [this.tour.step.settings] : Object.values(this.sides);
    const lengths = settings.map(({ duration }) => parsed("time", duration) || 10);
    return Math.max(...lengths);
  }

  // While a slider is dragged, one run is on its way: once its samples are drawn, the newest value
  // follows. What is there whole would only come again, packet for packet.
  play(isDragging = false) {
    const run = this.runs[this.moved];
    this.isWaiting = isDragging && Boolean(run) && !run.isSampled(PATIENCE);
    if (this.isWaiting) return;
    if (run && run.isGood && sameSettings(run.settings, this.sides[this.moved])) return;
    this.send(this.moved);
  }

  send(side) {
    const settings = { ...this.sides[side] };
    const before = this.runs[side];
    const isSame = before && !before.isWhole && sameSettings(before.settings, settings);
    if (!isSame) {
      this.number += 1;
      this.runs[side] = new Run(this.number, settings, performance.now());
      this.bands[side] = null;
    } else before.since = performance.now();
    const { number } = this.runs[side];
    this.drawn = 0;
    this.connection.send({ ask: "play", side, number, settings });
    at("result").setAttribute("aria-busy", "true");
    this.redraw();
    window.clearTimeout(this.resting);
    window.clearTimeout(this.paling);
    this.paling = window.setTimeout(() => this.redraw(), PALE_AFTER);
  }

  hear(message) {
    const { kind, side, number } = message;
    if (kind === "saved" || (message.side && this.saving === number)) {
      this.heardOfSaving(message);
      return;
    }
    const isBand = this.bands[side] && this.bands[side].number === number;
    const run = isBand ? this.bands[side] : this.runs[side];
    if (!run || run.number !== number) return; // of a run that was replaced meanwhile
    if (message.columns) run.addFrame(message);
    else if (TOLD[kind]) TOLD[kind](this, run, message);
    if (this.isWaiting && run.isSampled(PATIENCE)) window.setTimeout(() => this.playWaiting());
    const isEarly = kind === "samples" && performance.now() - this.drawn < WHILE_COMING;
    if (isEarly || SOON_MORE.includes(kind)) return;
    if (kind === "samples") this.drawn = performance.now();
    this.redraw();
  }

  playWaiting() {
    if (this.isWaiting) this.play(true);
  }

  // A graph keeps the run before until its own columns come, so that nothing flickers.
  redraw() {
    const sides = this.compared ? [this.other, this.moved] : [this.moved];
    for (const graph of GRAPHS) {
      const views = sides.flatMap((side) => this.viewOf(side, graph));
      const mark = views.map(({ run, side }) => {
        const band = this.bands[side] && this.bands[side].versions.band;
        return [run.number, ...graph.kinds.map((kind) => run.versions[kind]), band].join(".");
      });
      const line = this.predictionIn(graph.key);
      const isHidden = this.tour.isAsking && (Boolean(line) || !this.tour.step.keep);
      const drawn = [...mark, this.moved, this.compared, isHidden, line && line.value].join();
      if (graph.drawn === drawn || !(views.length || line)) continue;
      graph.drawn = drawn;
      const own = line && line.value !== undefined ? [predictionLayer(line)] : [];
      // An earlier run would tell the answer, or mislead; one that is kept is what one starts from.
      const layers = () => (isHidden ? [] : layersOf(graph.key, views));
      this.board.update(graph.key, () => [...layers(), ...own]);
    }
    this.showSpan();
    this.showStage(sides);
    this.tell();
  }

  showStage(sides) {
    const views = sides.map((side) => ({ side, run: this.runs[side] }));
    if (!views.every(({ run }) => run && run.isWhole)) return;
    // Its packets take longer than all graphs, which are what one waits for: these are drawn first.
    requestAnimationFrame(() =>
      window.setTimeout(() => {
        if (views.every(({ side, run }) => this.runs[side] === run)) this.stage.show(views);
      }),
    );
  }

  showSpan() {
    const duration = this.duration();
    if (this.spanned === duration) return;
    this.spanned = duration;
    this.board.setSpan([0, duration]);
  }

  viewOf(side, graph) {
    const newest = this.runs[side];
    const has = newest && graph.kinds.some((kind) => newest.kinds[kind]);
    const run = has ? newest : this.shown[side][graph.key];
    if (has) this.shown[side][graph.key] = newest;
    const section = at(graph.key);
    const isLate = newest && performance.now() - newest.since >= PALE_AFTER;
    if (side === this.moved) section.classList.toggle("before", Boolean(isLate) && !has);
    if (!run) return [];
    if (this.bands[side]) run.kinds.band = this.bands[side].kinds.band;
    const isKept = this.compared && side !== this.moved;
    return [{ run, side, prefix: this.compared ? `${side} ` : "", isKept }];
  }

  tell() {
    const run = this.runs[this.moved];
    if (!run) return;
    const took = latency(run);
    if (took) write(at("latency"), took);
    if (!run.isWhole) return;
    this.events.show(run);
    this.showLink();
  }

  ended(run, side) {
    if (side === this.moved || this.compared) this.summarise();
    const busy = ["A", "B"].some((name) => this.runs[name] && !this.runs[name].isWhole);
    at("result").setAttribute("aria-busy", String(busy));
    if (side === this.moved) this.tour.finished(run.outcome.measures);
    this.resting = window.setTimeout(() => this.board.showLegends(), AT_REST);
  }

  pick({ layer, at: place }) {
    if (layer.events) this.events.explain(layer.events[place]);
  }

  goTo(time) {
    const wide = Math.max(0.2, this.duration() / 20);
    this.board.zoom(time - wide / 2, time + wide / 2);
  }

  listen() {
    at("lesson").addEventListener("change", ({ target }) => {
      const chosen = this.offered.lessons.find(({ name }) => name === target.value);
      if (chosen) this.chooseLesson(chosen, 0);
      else this.tour.stop();
    });
    window.addEventListener("hashchange", () => this.followLink());
    this.showSides();
  }

  // Keeps what is shown as the other side, and moves a copy of it.
  compare() {
    if (this.compared) {
      this.compared = false;
      this.summarise();
    } else this.keep();
    this.showSides();
    this.showLink();
    GRAPHS.forEach((graph) => (graph.drawn = ""));
    this.redraw();
  }

  keep() {
    const [kept, moved] = ["A", "B"];
    const from = this.moved;
    for (const of of [this.sides, this.runs, this.shown]) {
      const value = of[from];
      of[kept] = value;
      of[moved] = of === this.runs ? value : { ...value };
    }
    Object.assign(this, { compared: true, moved });
  }

  moveSide(side) {
    this.moved = side;
    this.controls.show(this.sides[side]);
    this.showSides();
    this.showLink();
    this.summarise();
    this.redraw();
  }

  summarise() {
    const [run, other] = [this.runs[this.moved], this.runs[this.other]];
    if (!run || !run.isWhole || !run.outcome.flows.length) return;
    const isBoth = this.compared && other && other.isWhole;
    const more = isBoth ? ` ${this.other} to ${this.moved}: ${comparison(other, run)}` : "";
    at("summary").textContent = summary(run) + more;
  }

  showSides() {
    this.actions.showSides(this.compared, this.moved);
  }

  askSeeds() {
    this.number += 1;
    const settings = { ...this.sides[this.moved] };
    this.bands[this.moved] = new Run(this.number, settings, performance.now());
    const asked = { side: this.moved, number: this.number, settings, seeds: SEEDS };
    this.connection.send({ ask: "seeds", ...asked });
    this.actions.say(`${SEEDS} seeds are on their way.`);
  }

  save() {
    this.number += 1;
    this.saving = this.number;
    const settings = { ...this.sides[this.moved] };
    this.connection.send({ ask: "save", side: this.moved, number: this.number, settings });
    this.actions.say("It is run once more, with captures and a report.");
  }

  heardOfSaving({ kind, path, sentence }) {
    if (kind === "saved") this.actions.say(`Saved: ${path}`);
    if (kind === "problem") this.actions.say(sentence);
  }

  command() {
    const run = this.runs[this.moved];
    return (run && run.command) || "";
  }

  link() {
    this.showLink();
    return window.location.href;
  }

  async share() {
    const run = this.runs[this.moved];
    const answer = at("summary").textContent;
    const words = { title: "TCP on the stage", answer, made: `Made with tcplab: ${run.command}` };
    const { models } = this.stage.stage;
    await sharedPage(models, words).then(
      (page) => {
        download(page, "stage.html");
        this.actions.say(`stage.html has ${Math.ceil(page.length / 1000)} kB.`);
      },
      ({ message }) => this.actions.say(message),
    );
  }

  offerLessons() {
    const choice = at("lesson");
    for (const { name, title, minutes } of this.offered.lessons) {
      choice.append(element("option", { value: name, textContent: `${title} (${minutes} min)` }));
    }
  }

  chooseLesson(lesson, step) {
    at("lesson").value = lesson.name;
    this.lesson = lesson.name;
    if (this.compared) this.compare();
    this.tour.begin(lesson, step);
  }

  // Of the graph that the step's number is asked of: the line, once there is a value.
  predictionIn(key) {
    return this.line && this.line.graph === key ? this.line : null;
  }

  predict(value) {
    if (!this.line) return;
    this.line = { ...this.line, value };
    this.redraw();
  }

  // The sliders show what will be run; they rest until there is a prediction.
  showStep() {
    const { step } = this.tour;
    this.line = drawable(step);
    this.controls.show(step.settings);
    this.lookAt(step.look, this.line);
    this.redraw();
    at("controls").inert = this.tour.isAsking;
    if (this.tour.isAsking) at("summary").textContent = "Predict first; then it runs.";
    this.showLink();
  }

  runStep(step, before) {
    at("controls").inert = false;
    if (step.keep && !this.runs[this.moved]) {
      this.sides[this.moved] = { ...before.settings };
      this.send(this.moved);
    }
    if (step.keep) this.keep();
    else Object.assign(this, { compared: false, moved: "A" });
    this.sides[this.moved] = { ...step.settings };
    this.controls.show(step.settings);
    this.showSides();
    this.lookAt(step.look, this.line);
    this.send(this.moved);
  }

  // A lesson's step may name the graphs that show it: they stand with the question.
  lookAt(keys, line) {
    const isAsking = this.tour.isAsking;
    at("result").classList.toggle("in-lesson", Boolean(this.tour.lesson));
    at("result").classList.toggle("asking", isAsking);
    for (const { key } of GRAPHS) {
      const isAsked = isAsking && line ? key === line.graph : keys.includes(key);
      at(key).classList.toggle("asked", isAsked);
    }
    const plot = line && this.board.plots.find(({ graph }) => graph.key === line.graph);
    if (plot) plot.height = isAsking ? SCALES[line.graph](this.tour.step.settings) : null;
  }

  leaveLesson() {
    at("controls").inert = false;
    this.controls.show(this.sides[this.moved]);
    this.lesson = "";
    this.line = null;
    at("lesson").value = "";
    this.lookAt([], null);
    this.showLink();
    if (!this.runs[this.moved]) this.play();
  }

  showLink() {
    const link = toLink({ ...this, step: this.tour.at }, this.offered.defaults);
    if (!window.location.protocol.startsWith("http") || link === this.linked) return;
    this.linked = link;
    window.history.replaceState(null, "", link);
  }

  // Somebody pasted a link into the address of this page.
  followLink() {
    this.linked = "";
    Object.assign(this, fromLink(window.location.hash, this.offered.defaults));
    this.controls.show(this.sides[this.moved]);
    this.showSides();
    if (this.compared) this.send(this.other);
    this.play();
  }

  lose(why) {
    showLoss(why || "The server has ended. Start ./tcplab play again, and open its address.");
  }
}

// What an empty graph shows while one draws: up to the link's rate, and a full queue's wait.
const SCALES = {
  rate: ({ bw }) => [0, 1.2 * parsed("rate", bw)],
  trip: ({ bw, delay, queue }) => {
    const full = (parsed("count", queue) * FULL_FRAME) / parsed("rate", bw);
    const most = 1000 * (2 * parsed("time", delay) + full);
    return [0, 10 ** Math.ceil(Math.log10(2 * most))]; // it does not give the answer away
  },
};

// What is done about each kind of text from the server.
const TOLD = {
  accepted: (play, run, { settings, command }) => {
    run.command = command;
    run.settings = { ...settings };
  },
  event: (play, run, event) => run.addEvent(event),
  outcome: (play, run, outcome) => {
    run.finish(outcome);
    play.ended(run, outcome.side);
  },
  banded: (play, { settings }) => {
    const isFree = parsed("share", settings.loss) > 0 || parsed("time", settings.jitter) > 0;
    const why = isFree ? "" : " Without loss and jitter, they hardly differ.";
    play.actions.say(`The band holds ${SEEDS} seeds.${why}`);
  },
  stopped: () => {},
  problem: (play, run, { side, field, sentence }) => {
    run.finish({ flows: [], phases: {}, measures: {}, verdict: sentence });
    if (side !== play.moved) return;
    const isBeside = play.controls.problem(field, sentence);
    const beside = "These settings cannot be run: see the field.";
    at("summary").textContent = isBeside ? beside : sentence;
    at("result").setAttribute("aria-busy", "false");
  },
};

function sameSettings(one, other) {
  return Object.keys(other).every((name) => one[name] === other[name]);
}

// Nothing is laid out anew for a text that stays.
function write(box, text) {
  if (box.textContent !== text) box.textContent = text;
}

function showLoss(sentence) {
  at("lost").hidden = false;
  at("lost").textContent = sentence;
}

async function start() {
  const offered = await offer().catch(({ message }) => showLoss(message));
  if (!offered) return;
  const play = new Play(offered);
  window.tcplabPlay.play = play;
  await play.start();
}

// For tests and for the curious.
window.tcplabPlay = { play: null };
window.tcplabPlay.ready = start();
