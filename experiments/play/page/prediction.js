// A prediction that is drawn: a line across the asked graph, moved by pointer or by its number.

// The graph that shows a measure, and what turns the measure into the graph's values.
const SHOWN = { goodput: ["rate", 1e6], rtt: ["trip", 1], longest_rtt: ["trip", 1] };
const DIGITS = 2;

// {graph, scale} of a step whose answer is a number that a graph shows; else null.
export function drawable(step) {
  const [graph, scale] = SHOWN[(step.answer || "").replace(/_\d+$/, "")] || [];
  return graph && step.look.includes(graph) ? { graph, scale } : null;
}

// The line, as a layer of the graph.
export function predictionLayer({ value, scale }) {
  return {
    name: "prediction",
    shape: "level",
    x: Float64Array.of(0),
    y: Float64Array.of(value * scale),
    look: { colour: "#CC79A7", width: 3 },
    words: "your prediction",
  };
}

// Calls `moved(value)` while a pointer draws in the plot.
export function listenToDrawing(plot, isAsking, moved) {
  const draw = (event) => {
    const drawn = isAsking(plot);
    if (!drawn || !plot.current || (event.type === "pointermove" && !event.buttons)) return;
    event.stopImmediatePropagation();
    const value = Math.max(0, plot.current.value(plot.point(event)[1])) / drawn.scale;
    moved(Number(value.toPrecision(DIGITS)));
  };
  for (const kind of ["pointerdown", "pointermove"]) {
    plot.canvas.addEventListener(kind, draw, { capture: true });
  }
}
