// The recorded stage: sliders over a grid of runs, whose pieces are loaded when they are chosen.

const WORDS = {
  queue: (value) => `${value} slots`,
  rate: (value) => value.replace("mbit", " Mbit/s"),
  delay: (value) => value.replace("ms", " ms"),
  loss: (value) => value,
  sender: (value) => value,
};
const grid = JSON.parse(document.getElementById("recorded-grid").textContent);
const chosen = Object.fromEntries(
  ["rate", "delay", "loss", "sender"].map((name, at) => [name, grid.first[at]]),
);
chosen.queue = grid.axes.queue[0];
const pieces = new Map(); // models by the piece's name, as promises
const arriving = new Map(); // what waits for a piece's script

// The call of a piece's file. A script loads from a file too, where fetch does not.
window.recordedPiece = (name, data) => arriving.get(name)(data);

function pieceName({ rate, delay, loss, sender }) {
  return [rate, delay, loss, sender].join("-").replace("%", "");
}

function loaded(name) {
  return new Promise((resolve, reject) => {
    arriving.set(name, resolve);
    const script = element("script", { src: `recorded/${name}.js` });
    script.onerror = () => reject(new Error(`The recording ${name} cannot be loaded.`));
    document.head.append(script);
  });
}

function pieceOf(settings) {
  const name = pieceName(settings);
  if (!pieces.has(name)) pieces.set(name, loaded(name).then(storedModels));
  return pieces.get(name);
}

function median(values) {
  const sorted = Float64Array.from(values).sort();
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : NaN;
}

function callsOf(model) {
  return Array.from(model.data.sent.keys()).filter((at) => model.isCall(at));
}

// The sentence above the stage, from the packets of the run.
function answerOf(model) {
  const calls = callsOf(model);
  const trips = calls.map((at) => model.arrived[at] - model.data.sent[at]);
  const late = trips.filter((trip) => trip > LATE).length;
  const share = Math.ceil((100 * late) / calls.length);
  const { wanted, times } = model.receiver(0);
  const rate = rateText((8 * wanted[wanted.length - 1]) / (times[times.length - 1] - model.start));
  const middle = secondsText(median(trips));
  const words = late ? `${share} % of them too late for a conversation, or lost` : "all in time";
  return `With ${chosen.queue} slots the call\u2019s packets take ${middle} (median), ${words}. ` +
    `The download gets ${rate}.`;
}

// The live page with the same link, where every value can be chosen.
function commandOf({ rate, delay, loss, queue, sender }) {
  const settings = new URLSearchParams({ bw: rate, delay, loss, queue, flows: sender });
  return `./tcplab play '#${settings}'`;
}

// The range is that of all queues, so that a drag moves the dots and not the axis.
function callGraph(model, models) {
  const calls = callsOf(model).filter((at) => !model.isLost(at));
  const trip = (at) => 1000 * (model.arrived[at] - model.data.sent[at]);
  const longest = 1000 * Math.max(2 * LATE, ...models.map((each) => each.longest));
  return {
    key: "call",
    title: "How long each packet of the call takes",
    caption: "Above the line a conversation stumbles (ITU-T G.114: 150 ms).",
    overTime: true,
    height: 200,
    x: { label: "time since the first packet", unit: "s" },
    y: { label: "from sender to receiver", unit: "ms", range: [0, 1.05 * longest] },
    layers: [
      {
        shape: "dots",
        x: Float64Array.from(calls, (at) => model.data.sent[at]),
        y: Float64Array.from(calls, trip),
        look: { colour: COLOURS.call, mark: "square" },
        words: "a packet of the call",
      },
      {
        shape: "level",
        x: [0],
        y: [1000 * LATE],
        look: { colour: COLOURS.lost, dash: [6, 4] },
        words: "150 ms",
      },
    ],
  };
}

function setting(name, onChange) {
  const values = grid.axes[name];
  const label = element("label", { textContent: name });
  const shown = element("output", {});
  const slider = element("input", { type: "range", min: 0, max: values.length - 1, step: 1 });
  slider.value = values.indexOf(chosen[name]);
  const tell = () => {
    shown.textContent = WORDS[name](chosen[name]);
    slider.setAttribute("aria-valuetext", shown.textContent);
  };
  tell();
  slider.addEventListener("input", () => {
    chosen[name] = values[slider.value];
    tell();
    onChange();
  });
  label.append(shown, slider);
  const marks = element("small", {});
  marks.setAttribute("aria-hidden", "true");
  marks.append(...values.map((value) => element("span", { textContent: value.replace("mbit", "M") })));
  const box = element("div", { className: name === "queue" ? "wide-setting" : "" });
  box.append(label, marks);
  // A setting of which other pieces are not here.
  slider.disabled = name !== "queue" && grid.pieces.length === 1;
  return box;
}

async function showRecorded() {
  const answer = document.getElementById("answer");
  const board = new PlotBoard(document.getElementById("graphs"));
  const stage = new Stage(document.getElementById("stage"), board, { hasCall: true });
  let turn = 0;
  const show = async () => {
    const mine = (turn += 1);
    document.getElementById("command").textContent = commandOf(chosen);
    try {
      const models = await pieceOf(chosen);
      if (mine !== turn) return;
      const model = models[grid.axes.queue.indexOf(chosen.queue)];
      answer.textContent = answerOf(model);
      stage.show([model]);
      const end = Math.max(...models.map((each) => each.end));
      if (await board.show([callGraph(model, models)], [0, end])) stage.go(stage.time, true);
    } catch (error) {
      if (mine === turn) answer.textContent = `${error.message} Choose other settings.`;
    }
  };
  pieces.set(
    pieceName(chosen),
    storedModels(JSON.parse(document.getElementById("recorded-first").textContent)),
  );
  const form = document.getElementById("settings");
  form.append(...Object.keys(WORDS).map((name) => setting(name, show)));
  await show();
  if (!stage.calm.matches) stage.play(true);
  return { board, stage, chosen };
}
if (window.parent !== window) {
  const tell = () => window.parent.postMessage(document.body.offsetHeight, "*");
  new ResizeObserver(tell).observe(document.body);
}
window.tcplabRecorded = showRecorded();
