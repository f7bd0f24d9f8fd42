{# Wheel, drag, pinch, double click and keys. Keys do all that a pointer does: Shift and an arrow
   go from mark to mark and read each, Enter is a click on it. #}

const STILL = 4; // px

function listen(plot, tooltip) {
  const { canvas } = plot;
  canvas.addEventListener("wheel", (event) => onWheel(plot, event), { passive: false });
  canvas.addEventListener("dblclick", () => showAll(plot));
  canvas.addEventListener("keydown", (event) => onKey(plot, event, tooltip));
  canvas.addEventListener("blur", () => tooltip.hide(plot));
  canvas.addEventListener("pointerleave", () => tooltip.hide(plot));
  const fingers = new Map();
  let pressed = null;
  canvas.addEventListener("pointerdown", (event) => {
    pressed = plot.point(event);
    plot.scrubs = isScrub(plot, event);
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, pressed);
  });
  canvas.addEventListener("click", (event) => {
    // The end of a drag is no click on a mark.
    const [across, down] = plot.point(event);
    const [x, y] = pressed || [across, down];
    if (Math.hypot(across - x, down - y) >= STILL) return;
    tooltip.show(plot, event); // a finger has not pointed before
    tooltip.pick(plot);
    if (plot.span.onPlayhead) plot.span.onPlayhead(plot.current.time(across));
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
  }
  canvas.addEventListener("pointermove", (event) => onMove(plot, fingers, event, tooltip));
}

function showAll(plot) {
  plot.height = null;
  plot.span.reset();
}

function onWheel(plot, event) {
  const frame = plot.current;
  // Without Ctrl the page scrolls; a pinch on a touchpad comes as a wheel with Ctrl.
  if (!frame || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  const factor = 1.0015 ** (event.deltaY || event.deltaX);
  if (!event.shiftKey) {
    plot.span.zoom(factor, frame.place(plot.point(event)[0]));
    return;
  }
  const axis = plot.graph.y;
  const [around, low, high] = [frame.value(plot.point(event)[1]), frame.low, frame.high].map((value) =>
    toScale(axis, value),
  );
  plot.height = [around - (around - low) * factor, around + (high - around) * factor].map((at) =>
    fromScale(axis, at),
  );
  plot.drawSoon();
}

function onKey(plot, event, tooltip) {
  const middle = (plot.span.left + plot.span.right) / 2;
  const arrow = (way) => (event.shiftKey ? tooltip.step(plot, way) : plot.span.move(0.2 * way));
  const actions = {
    ArrowLeft: () => arrow(-1),
    ArrowRight: () => arrow(1),
    Enter: () => tooltip.pick(plot),
    "+": () => plot.span.zoom(0.6, middle),
    "=": () => plot.span.zoom(0.6, middle),
    "-": () => plot.span.zoom(1 / 0.6, middle),
    0: () => showAll(plot),
    Home: () => showAll(plot),
  };
  if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  actions[event.key]();
}

function onMove(plot, fingers, event, tooltip) {
  const before = fingers.get(event.pointerId);
  if (!before) {
    tooltip.show(plot, event);
    return;
  }
  const now = plot.point(event);
  const other = [...fingers].find(([id]) => id !== event.pointerId);
  fingers.set(event.pointerId, now);
  if (other) pinch(plot, before[0], now[0], other[1][0]);
  else if (plot.scrubs) plot.span.onPlayhead(plot.current.time(now[0]));
  else drag(plot, now[0] - before[0], now[1] - before[1]);
}

// With a stage, a drag moves its time: of the whole axis anywhere, of a part near the playhead.
function isScrub(plot, event) {
  const { span, current } = plot;
  if (!span.onPlayhead || !plot.graph.overTime) return false;
  return span.isWhole || Math.abs(current.X(span.playhead) - plot.point(event)[0]) < NEAR;
}

function drag(plot, right, down) {
  const { width, height } = plot.current;
  if (plot.height) {
    const axis = plot.graph.y;
    const [low, high] = plot.height.map((value) => toScale(axis, value));
    const by = (down / height) * (high - low);
    plot.height = [low + by, high + by].map((at) => fromScale(axis, at));
  }
  plot.span.move(-right / width);
}

// The finger at `still` stays on its time.
function pinch(plot, before, now, still) {
  if (Math.abs(now - still) < 10) return;
  plot.span.zoom(
    Math.min(2, Math.max(0.5, (before - still) / (now - still) || 1)),
    plot.current.place(still),
  );
}
