{# Decodes what stored.py encodes: base64, deflate, bytes of one weight together, differences. #}

async function inflated(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function decoded(column) {
  const planes = await inflated(column.data);
  const values = new Float64Array(column.length);
  let sum = 0;
  for (let at = 0; at < column.length; at += 1) {
    let zigzag = 0;
    for (let plane = column.width - 1; plane >= 0; plane -= 1) {
      zigzag = zigzag * 256 + planes[plane * column.length + at];
    }
    sum += zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
    values[at] = sum * column.step;
  }
  return values;
}

// The columns of the page; each is decoded once, when a graph first needs it.
class ColumnStore {
  constructor(stored) {
    this.stored = stored;
    this.values = new Map();
  }

  get(place) {
    if (!this.values.has(place)) this.values.set(place, decoded(this.stored[place]));
    return this.values.get(place);
  }
}
