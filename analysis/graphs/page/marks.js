// The small signs on segments, each with a form of its own.

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

// A sample of the layer for the legend.
function drawSample(pen, layer) {
  const { look } = layer;
  pen.strokeStyle = pen.fillStyle = layer.colour;
  pen.lineWidth = Math.max(1.5, look.width);
  pen.setLineDash(layer.dash ? [4, 3] : []);
  if (layer.shape !== "dots") {
    const upright = layer.shape === "bars";
    pen.beginPath();
    pen.moveTo(upright ? 13 : 2, upright ? 13 : 7);
    pen.lineTo(upright ? 13 : 24, upright ? 1 : 7);
    pen.stroke();
  }
  pen.setLineDash([]);
  if (look.every || layer.shape === "dots") drawMark(pen, look.mark, 13, 7, 4.5);
}
