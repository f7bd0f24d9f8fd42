// The stage of the live page: the packets of the runs, above the graphs.

import { Stage, StageModel } from "./plots.js";
import { parsed } from "./values.js";
import { sideTitle } from "./words.js";

const NONE = new Float64Array(0);
const EMPTY = {
  data: columns("sent", "arrived", "sequence", "length", "kind", "flow", "marked"),
  acks: columns("sent", "arrived", "acknowledgement", "flow"),
  blocks: columns("ack", "left", "right"),
  samples: columns("time", "window", "threshold", "flow"),
};

function columns(...names) {
  return Object.fromEntries(names.map((name) => [name, NONE]));
}

export class LiveStage {
  constructor(box, board, kinds) {
    this.stage = new Stage(box, board);
    this.kinds = kinds;
    this.shown = "";
  }

  // The strips of these views, [{run, side}]; of a run that has no packets yet, its pipe alone.
  show(views) {
    const shown = views.map(({ run }) => `${run.number}.${run.isWhole}`).join();
    if (this.shown === shown || !views.length) return;
    this.shown = shown;
    const isFirst = !this.stage.models.some((model) => model.count);
    const [first, last] = [views[0], views[views.length - 1]];
    const models = views.map(({ run, side }) => {
      if (first === last) return this.model(run, "");
      const other = (run === first.run ? last : first).run.settings;
      return this.model(run, side, sideTitle(side, run.settings, other));
    });
    this.stage.show(models);
    if (isFirst) this.stage.go(this.stage.firstRepair());
  }

  // Other settings at once: the geometry, without a packet that was not captured.
  // Of two sides the other keeps its packets.
  preview(settings, side = "", other = settings) {
    this.shown = "";
    const title = side && sideTitle(side, settings, other);
    const made = new StageModel({ ...EMPTY, ...this.common(settings, side, title) });
    const { models } = this.stage;
    const isPair = side && models.length > 1;
    this.stage.show(isPair ? models.with(side === "A" ? 0 : 1, made) : [made]);
  }

  model(run, label, title) {
    const common = this.common(run.settings, label, title);
    const sent = run.isWhole && run.columns("sent");
    if (!sent) return new StageModel({ ...EMPTY, ...common });
    const sampled = run.rows("samples");
    const samples = sampled
      ? {
          time: sampled.time,
          window: sampled.cwnd,
          threshold: sampled.ssthresh.map((bytes) => bytes || 0), // NaN: no loss yet
          flow: sampled.flow,
        }
      : EMPTY.samples;
    const [acks, blocks] = ["acks", "blocks"].map((kind) => run.columns(kind) || EMPTY[kind]);
    const spans = run.columns("kept");
    const kept = spans && Array.from(spans.from, (from, at) => [from, spans.to[at]]);
    const last = spans && parsed("time", run.settings.duration);
    return new StageModel({ ...common, data: sent, acks, blocks, samples, kept, last });
  }

  common(settings, label, title) {
    const flows = settings.flows.split("+").map((text) => text.split("@")[0]);
    return { label, title, kinds: this.kinds, flows, shape: shapeOf(settings) };
  }
}

// One FIFO behind a steady delay has places; else there is one pipe without a queue.
function shapeOf({ bw, delay, loss, jitter, queue, discipline, change }) {
  const isPlain = discipline === "fifo" && !change && parsed("time", jitter) === 0;
  return {
    nodes: ["h1", "s1", "h2"],
    delay: parsed("time", delay) || 0,
    rate: isPlain ? parsed("rate", bw) || 0 : 0,
    queue: parsed("count", queue) || 1,
    loss: parsed("share", loss) > 0,
    words: [`${bw}, ${delay}, ${discipline} ${queue}`],
  };
}
