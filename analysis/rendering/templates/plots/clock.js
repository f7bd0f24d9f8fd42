{# The absolute time of a place on an axis whose `clock` says when its 0 was, in ns since 1970. #}

// A number of ns since 1970 has more digits than a double.
function utc(axis, at) {
  const since = BigInt(axis.clock) + BigInt(Math.round(at * axis.scale * 1e9));
  const second = since / 1000000000n;
  const date = new Date(Number(second) * 1000).toISOString();
  const fraction = String(since % 1000000000n).padStart(9, "0");
  return { day: date.slice(0, 10), time: date.slice(11, 19), fraction };
}

function utcDateText(axis, at) {
  const { day, time, fraction } = utc(axis, at);
  return `${day}T${time}.${fraction}Z`;
}

// With the digits that a view of `span` can tell apart.
function utcText(axis, at, span) {
  const { day, time, fraction } = utc(axis, at);
  const digits = Math.min(9, Math.max(3, decimals((span * axis.scale) / 1e3)));
  return `${day} ${time}.${fraction.slice(0, digits)} UTC`;
}

// Beside the axis' name: when the left edge is, if there is room.
function drawClock(pen, axis, frame, room) {
  const text = utcText(axis, frame.left, frame.right - frame.left);
  const words = [`from ${text}`, `from ${text.slice(11)}`];
  const fitting = words.find((each) => pen.measureText(each).width < room);
  pen.textAlign = "left";
  if (fitting) pen.fillText(fitting, frame.x, frame.y + frame.height + 27);
}
