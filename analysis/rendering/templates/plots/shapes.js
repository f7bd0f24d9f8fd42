{# Draws layers into a frame. If there are more marks than pixels, each column of pixels gets the
   lowest and the highest; looks of which every mark counts (retransmissions) are never thinned.
   Each returns how many it drew. #}

const EVEN = 12;

{# The first place in the sorted `values` that is at least `bound`. #}
function lowerBound(values, bound) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

{# Whether a layer's marks hang together, or lie at their places whatever is zoomed to. #}
const JOINED = ["line", "stairs", "rate", "band"];

{# The marks that may be seen between `left` and `right`, as places [from, to). #}
function visible(layer, left, right) {
  if (layer.shape === "level") return [0, layer.x.length];
  const joined = JOINED.includes(layer.shape) ? 1 : 0;
  const from = lowerBound(layer.x, left - layer.reach) - joined;
  const to = lowerBound(layer.x, right + 1e-9) + joined;
  return [Math.max(0, from), Math.min(layer.x.length, to)];
}

{# The lowest and highest y of what is seen, or null. #}
function extent(layer, left, right) {
  if (layer.shape === "rate") return extentOf(rates(layer, left, right).values);
  if (layer.shape === "moments") return null;
  let [from, to] = visible(layer, left, right);
  {# The next step lies beyond the right edge. #}
  if (layer.shape === "stairs" && to < layer.x.length) to -= 1;
  const low = extentOf(layer.y.subarray(from, to));
  if (!low || !layer.top) return low;
  const top = extentOf(layer.top.subarray(from, to));
  return [Math.min(low[0], top[0]), Math.max(low[1], top[1])];
}

function extentOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (let at = 0; at < values.length; at += 1) {
    if (values[at] < low) low = values[at];
    if (values[at] > high) high = values[at];
  }
  return low <= high ? [low, high] : null;
}

{# The growing sum's steepness in equal bins that suit the zoom. None is shorter than a millisecond,
   nor, as long as 30 are seen, than EVEN steps of the sum usually take here: a bin with a step more
   or less would show pulses that are not there. #}
function rates(layer, left, right) {
  const [from, to] = visible(layer, left, right);
  const usual = (layer.x[to - 1] - layer.x[from]) / Math.max(1, to - 1 - from);
  const span = right - left;
  const bin = roundStep(Math.max(1e6, span / 150, Math.min(EVEN * usual, span / 30)));
  const first = Math.floor(Math.max(left, layer.x[0] - bin) / bin);
  const last = Math.ceil(Math.min(right, layer.x[layer.x.length - 1]) / bin);
  const values = [];
  let before = sumAt(layer, first * bin);
  for (let at = first; at < last; at += 1) {
    const after = sumAt(layer, (at + 1) * bin);
    values.push((after - before) / bin);
    before = after;
  }
  return { start: first * bin, bin, values };
}

function sumAt(layer, x) {
  const place = lowerBound(layer.x, x + 1e-6) - 1;
  return place < 0 ? 0 : layer.y[place];
}

function drawBars(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  if (!layer.look.every && to - from > 2 * frame.width)
    return drawColumns(pen, layer, frame, from, to);
  const longer = layer.end ? 0 : 0.5; // so that what goes up is a pixel long at least
  pen.beginPath();
  for (let at = from; at < to; at += 1) {
    const end = layer.end ? frame.X(layer.end[at]) : frame.X(layer.x[at]);
    pen.moveTo(frame.X(layer.x[at]), frame.Y(layer.y[at]) + longer);
    pen.lineTo(end, frame.Y(layer.top[at]) - longer);
  }
  pen.stroke();
  if (layer.look.every) drawSigns(pen, layer, frame, from, to);
  return to - from;
}

function drawColumns(pen, layer, frame, from, to) {
  let [column, low, high, drawn] = [null, 0, 0, 0];
  const flush = () => {
    if (column === null) return;
    pen.moveTo(column + 0.5, frame.Y(low) + 0.5);
    pen.lineTo(column + 0.5, frame.Y(high) - 0.5);
    drawn += 1;
  };
  const top = layer.top || layer.y;
  pen.beginPath();
  for (let at = from; at < to; at += 1) {
    const pixelColumn = frame.column(layer.x[at]);
    if (pixelColumn !== column) {
      flush();
      [column, low, high] = [pixelColumn, Infinity, -Infinity];
    }
    if (layer.y[at] < low) low = layer.y[at];
    if (top[at] > high) high = top[at];
  }
  flush();
  pen.stroke();
  return drawn;
}

function drawSigns(pen, layer, frame, from, to) {
  const size = to - from > frame.width / 3 ? 2.2 : 4.5;
  for (let at = from; at < to; at += 1) {
    const x = layer.end ? layer.end[at] : layer.x[at];
    drawMark(pen, layer.look.mark, frame.X(x), frame.Y((layer.top || layer.y)[at]), size);
  }
}

{# Letters are drawn if they do not cover one another, nor those of other layers, and only if most
   of them fit. #}
function drawLetters(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  if (layer.shape !== "bars" || !layer.look.letter || to - from > frame.width / 3) return;
  const below = layer.look.letter === "S";
  pen.textBaseline = below ? "top" : "bottom";
  for (let at = from; at < to; at += 1) {
    const x = frame.X(layer.x[at]);
    const edge = frame.Y(below ? layer.y[at] : layer.top[at]);
    const y = below || edge < frame.y ? edge + 3 : Math.max(edge - 5, frame.y + 12); // not cut
    if (frame.letters.some(([left, top]) => Math.abs(left - x) < 12 && Math.abs(top - y) < 13))
      continue;
    frame.letters.push([x, y]);
    pen.fillText(layer.look.letter, x, y);
  }
}

function drawPath(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  if (to - from > 4 * frame.width) {
    return drawColumns(pen, layer, frame, from, to) + drawThinnedPath(pen, layer, frame, from, to);
  }
  pen.beginPath();
  for (let at = from; at < to; at += 1) {
    const [x, y] = [frame.X(layer.x[at]), frame.Y(layer.y[at])];
    if (layer.shape === "stairs" && at > from) pen.lineTo(x, frame.Y(layer.y[at - 1]));
    pen.lineTo(x, y);
  }
  pen.stroke();
  return to - from;
}

{# Joins the columns: the last point of one and the first of the next. #}
function drawThinnedPath(pen, layer, frame, from, to) {
  let [column, drawn] = [null, 0];
  pen.beginPath();
  for (let at = from; at < to; at += 1) {
    const pixelColumn = frame.column(layer.x[at]);
    if (pixelColumn === column) continue;
    if (column !== null) {
      const y = frame.Y(layer.y[at - 1]);
      pen.lineTo(column + 0.5, y);
      if (layer.shape === "stairs") pen.lineTo(pixelColumn + 0.5, y);
    }
    pen.lineTo(pixelColumn + 0.5, frame.Y(layer.y[at]));
    column = pixelColumn;
    drawn += 1;
  }
  pen.stroke();
  return drawn;
}

{# Dots on the same 2 x 2 pixels are one dot, which loses nothing that can be seen. #}
function drawDots(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  if (layer.look.every) {
    drawSigns(pen, layer, frame, from, to);
    return to - from;
  }
  const size = to - from < 2000 ? 2 : 1.2;
  const wide = Math.ceil(frame.width / 2) + 1;
  const taken = new Uint8Array(wide * (Math.ceil(frame.height / 2) + 1));
  let drawn = 0;
  for (let at = from; at < to; at += 1) {
    const [x, y] = [frame.X(layer.x[at]), frame.Y(layer.y[at])];
    const cell = ((y - frame.y) >> 1) * wide + ((x - frame.x) >> 1);
    if (taken[cell]) continue;
    taken[cell] = 1;
    pen.fillRect(x - size, y - size, 2 * size, 2 * size);
    drawn += 1;
  }
  return drawn;
}

function drawRate(pen, layer, frame) {
  const { start, bin, values } = rates(layer, frame.left, frame.right);
  pen.beginPath();
  values.forEach((rate, at) => {
    pen.lineTo(frame.X(start + at * bin), frame.Y(rate));
    pen.lineTo(frame.X(start + (at + 1) * bin), frame.Y(rate));
  });
  pen.stroke();
  return values.length;
}

{# With more arrows than pixels, the first of each column is drawn. #}
function drawArrows(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  const thin = !layer.look.every && to - from > 2 * frame.width;
  let [column, drawn] = [null, 0];
  pen.globalAlpha = to - from > 2 * frame.width ? 0.4 : 1;
  pen.beginPath();
  for (let at = from; at < to; at += 1) {
    const x = frame.X(layer.x[at]);
    if (thin && Math.floor(x) === column) continue;
    column = Math.floor(x);
    drawn += 1;
    drawArrow(
      pen,
      x,
      frame.Y(layer.y[at]),
      frame.X(layer.end[at]),
      frame.Y(layer.top[at]),
      to - from < 400,
    );
  }
  pen.stroke();
  pen.globalAlpha = 1;
  if (layer.look.every) drawSigns(pen, layer, frame, from, to);
  return drawn;
}

function drawArrow(pen, x, y, toX, toY, withHead) {
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  if (!withHead) return;
  const angle = Math.atan2(toY - y, toX - x);
  for (const side of [-0.4, 0.4]) {
    pen.moveTo(toX, toY);
    pen.lineTo(toX - 8 * Math.cos(angle + side), toY - 8 * Math.sin(angle + side));
  }
}

{# The space between y and top, from each x to the next. #}
function drawBand(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  pen.globalAlpha = 0.22;
  pen.beginPath();
  for (let at = from; at < to; at += 1) pen.lineTo(frame.X(layer.x[at]), frame.Y(layer.y[at]));
  for (let at = to - 1; at >= from; at -= 1) {
    pen.lineTo(frame.X(layer.x[at]), frame.Y(layer.top[at]));
  }
  pen.closePath();
  pen.fill();
  pen.globalAlpha = 1;
  return Math.max(0, to - from);
}

{# A line over the whole width, as a link's rate is. #}
function drawLevel(pen, layer, frame) {
  for (const y of layer.y) line(pen, frame.x, frame.Y(y), frame.x + frame.width, frame.Y(y));
  return layer.y.length;
}

{# Single times: a drop, an event. A tick each at the top, or with a dash a line down. #}
function drawMoments(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  pen.beginPath();
  for (let at = from; at < to; at += 1) {
    const x = frame.X(layer.x[at]);
    pen.moveTo(x, frame.y);
    pen.lineTo(x, frame.y + (layer.dash ? frame.height : 9));
    if (layer.look.mark) drawMark(pen, layer.look.mark, x, frame.y + 9, 4.5);
  }
  pen.stroke();
  return to - from;
}

{# Filled from (x, y) to (end, top): at least a pixel wide if few are seen. Of many, a pixel has the
   mixture. #}
function drawBoxes(pen, layer, frame) {
  const [from, to] = visible(layer, frame.left, frame.right);
  const least = to - from > frame.width / 4 ? 0 : 1;
  pen.globalAlpha = layer.look.faint ? 0.2 : 1;
  for (let at = from; at < to; at += 1) {
    const [left, top] = [frame.X(layer.x[at]), frame.Y(layer.top[at])];
    const width = Math.max(least, frame.X(layer.end[at]) - left);
    pen.fillRect(left, top, width, Math.max(1, frame.Y(layer.y[at]) - top));
  }
  pen.globalAlpha = 1;
  return to - from;
}

const SHAPES = {
  bars: drawBars,
  stairs: drawPath,
  line: drawPath,
  dots: drawDots,
  rate: drawRate,
  arrows: drawArrows,
  band: drawBand,
  level: drawLevel,
  moments: drawMoments,
  boxes: drawBoxes,
};
