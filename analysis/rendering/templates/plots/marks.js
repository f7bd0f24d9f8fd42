{# The small signs on segments, each with a form of its own. #}

const MARKS = {
  triangle: [
    [0, -1],
    [0.95, 0.8],
    [-0.95, 0.8],
  ],
  square: [
    [-0.8, -0.8],
    [0.8, -0.8],
    [0.8, 0.8],
    [-0.8, 0.8],
  ],
  diamond: [
    [0, -1.15],
    [1.15, 0],
    [0, 1.15],
    [-1.15, 0],
  ],
};
const STROKES = {
  cross: [
    [-0.85, -0.85, 0.85, 0.85],
    [-0.85, 0.85, 0.85, -0.85],
  ],
  plus: [
    [-1, 0, 1, 0],
    [0, -1, 0, 1],
  ],
};

function drawMark(pen, mark, x, y, size) {
  pen.beginPath();
  if (STROKES[mark]) {
    for (const [x1, y1, x2, y2] of STROKES[mark]) {
      pen.moveTo(x + x1 * size, y + y1 * size);
      pen.lineTo(x + x2 * size, y + y2 * size);
    }
    pen.lineWidth = 2;
    pen.stroke();
    return;
  }
  if (MARKS[mark]) {
    for (const [dx, dy] of MARKS[mark]) pen.lineTo(x + dx * size, y + dy * size);
    pen.closePath();
  } else {
    pen.arc(x, y, size * 0.85, 0, 7);
  }
  if (mark === "ring") pen.stroke();
  else pen.fill();
}

// A sample of the layer for a legend: 26 pixels wide, 14 high.
function drawSample(pen, layer) {
  const { look, shape } = layer;
  pen.strokeStyle = pen.fillStyle = coloured(layer.colour);
  pen.lineWidth = Math.max(1.5, look.width);
  pen.setLineDash(layer.dash || []);
  if (shape === "boxes" || shape === "band") {
    pen.globalAlpha = look.faint || shape === "band" ? 0.25 : 1;
    pen.fillRect(4, 2, 18, 10);
    pen.globalAlpha = 1;
  } else if (shape !== "dots") {
    const isLong = layer.end || "end" in (layer.columns || {});
    const isUpright = (shape === "bars" && !isLong) || shape === "moments";
    pen.beginPath();
    pen.moveTo(isUpright ? 13 : 2, isUpright ? 13 : 7);
    pen.lineTo(isUpright ? 13 : 24, isUpright ? 1 : 7);
    pen.stroke();
  }
  pen.setLineDash([]);
  if (look.mark && (look.every || shape === "dots")) drawMark(pen, look.mark, 13, 7, 4.5);
}
