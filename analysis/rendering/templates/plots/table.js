{# What is seen of a graph as CSV: a row a mark, of the lines that are not hidden. #}

function csvOf(plot) {
  const { x, y } = plot.graph;
  const layers = plot.layers.filter((layer) => !layer.hidden && layer.x.length);
  const fields = [...new Set(layers.flatMap((layer) => layer.fields.map(([name]) => name)))];
  const titles = [x, y].map((axis) => axisTitle(axis, axis.unit) || "value");
  const [across, up] = titles;
  const head = ["line", across, `end: ${across}`, up, `to: ${up}`, ...fields];
  if (x.clock) head.push("UTC");
  const rows = layers.flatMap((layer) => seenRows(layer, plot.graph, plot.current, fields));
  return [head, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function seenRows(layer, { x, y }, frame, fields) {
  const columns = layer.shape === "rate" ? rateColumns(layer, frame) : layer;
  const [from, to] = layer.shape === "rate" ? [0, columns.x.length] : visible(layer, frame.left, frame.right);
  const rows = [];
  for (let at = from; at < to; at += 1) {
    const value = (name, axis) => (columns[name] ? plain(columns[name][at] * axis.scale) : "");
    const known = new Map(columns.fields.map(([name, values]) => [name, values[at]]));
    const row = [layer.words || layer.name, value("x", x), value("end", x), value("y", y), value("top", y)];
    row.push(...fields.map((name) => known.get(name) ?? ""));
    if (x.clock) row.push(utcDateText(x, columns.x[at]));
    rows.push(row);
  }
  return rows;
}

// The rate is drawn from sums, for the widths of the present zoom.
function rateColumns(layer, frame) {
  const { start, bin, values } = rates(layer, frame.left, frame.right);
  const x = values.map((_, at) => start + at * bin);
  return { x, end: x.map((time) => time + bin), y: values, fields: [] };
}

// As many digits as a number of nanoseconds has, without those that a product adds.
function plain(value) {
  return Number.isFinite(value) ? Number(value.toPrecision(15)) : "";
}

// RFC 4180, section 2.
function csvCell(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
