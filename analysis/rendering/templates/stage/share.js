// A shared stage: its graphs are drawn from its own packets. #t=0.25 sets the time; ?lecture fills
// a projector, and PageDown and PageUp, which presenters send, go from repair to repair.

const LECTURE_SIZE = 5 / 3 / 1080; // 12 px become 20 on 1080 lines
const LEAST_PLOT = 100; // px, before they are magnified
const SHARED_PLOT = 300;

function sharedGraph(model, at) {
  const { data, acks, isAgain } = model;
  const every = Array.from(data.sent.keys());
  const bars = (places, words, look) => ({
    shape: "bars",
    x: Float64Array.from(places, (place) => data.sent[place]),
    y: Float64Array.from(places, (place) => data.sequence[place]),
    top: Float64Array.from(places, (place) => data.sequence[place] + data.length[place]),
    look,
    words,
  });
  const highest = Math.max(1, ...model.receiver(0).wanted);
  return {
    key: `sequence_${at}`,
    title: model.label || "Time and sequence",
    caption: "Each packet is a stroke: its bytes, when it was sent.",
    overTime: true,
    height: SHARED_PLOT,
    x: { label: "time since the first packet", unit: "s" },
    y: { label: "bytes since the start", unit: "B", range: [0, 1.1 * highest] },
    layers: [
      {
        shape: "stairs",
        x: model.heardAt,
        y: risingOf(model.heard.map((ack) => acks.acknowledgement[ack])),
        look: { colour: COLOURS.ack, width: 1.5 },
        words: "acknowledged",
      },
      bars(every.filter((place) => !isAgain[place]), "data", { colour: COLOURS.data, width: 1.8 }),
      bars(
        every.filter((place) => isAgain[place]),
        "R: sent again",
        { colour: COLOURS.again, mark: "circle", letter: "R", every: true, width: 2 },
      ),
      bars(
        every.filter((place) => model.isLost(place)),
        "lost",
        { colour: COLOURS.lost, mark: "cross", every: true },
      ),
    ],
  };
}

function risingOf(values) {
  let highest = 0;
  return Float64Array.from(values, (value) => (highest = Math.max(highest, value)));
}

function timeOfAddress() {
  return Number(new URLSearchParams(window.location.hash.slice(1)).get("t")) || null;
}

// Without a way to change the address, as in a sandboxed frame, the stage works all the same.
function keepTime(stage) {
  const kept = `#t=${stage.time.toFixed(4)}`;
  if (window.location.hash !== kept) window.history.replaceState(null, "", kept);
}

function presenterKeys(stage) {
  document.addEventListener("keydown", (event) => {
    if (event.key === "PageDown") stage.nextLoss();
    else if (event.key === "PageUp") stage.lastLoss();
    else if (!stage.box.contains(event.target) && !event.target.closest("button, select, canvas")) {
      stage.onKey(event);
      return;
    } else return;
    event.preventDefault();
    stage.why();
  });
}

// The graphs get what the stage leaves of the screen.
function fillScreen({ plots, container }) {
  const over = container.getBoundingClientRect().bottom + window.scrollY + 8 - window.innerHeight;
  const size = LECTURE_SIZE * window.innerHeight;
  for (const plot of plots) {
    const height = plot.graph.height * plot.size - over;
    plot.graph.height = Math.max(LEAST_PLOT, height / size);
    plot.size = size;
    plot.drawSoon();
  }
}

async function showShared() {
  const isLecture = new URLSearchParams(window.location.search).has("lecture");
  document.documentElement.classList.toggle("lecture", isLecture);
  const models = await storedModels(JSON.parse(document.getElementById("stage-data").textContent));
  const board = new PlotBoard(document.getElementById("graphs"));
  const shown = isLecture ? models.slice(0, 2) : models;
  const graphs = shown.map((model, at) => sharedGraph(model, at));
  const end = Math.max(...models.map((model) => model.end));
  await board.show(graphs, [0, end]);
  const stage = new Stage(document.getElementById("stage"), board);
  stage.show(models);
  stage.go(timeOfAddress() ?? stage.firstRepair());
  stage.onRest = () => keepTime(stage);
  presenterKeys(stage);
  if (isLecture) {
    new ResizeObserver(() => fillScreen(board)).observe(stage.container);
    window.addEventListener("resize", () => fillScreen(board));
    stage.box.focus();
  }
  return { board, stage };
}
window.tcplabStage = showShared();
