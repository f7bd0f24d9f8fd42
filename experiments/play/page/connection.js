// The way to the server: a web socket, or in a notebook what its widget offers to this page.

const TYPES = {
  float64: Float64Array,
  float32: Float32Array,
  int32: Int32Array,
  uint8: Uint8Array,
};

// A binary message: length of the header, header, columns that begin at multiples of eight bytes.
export function decoded(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const columns = {};
  let at = 4 + size;
  for (const { name, type, length } of header.columns) {
    columns[name] = new TYPES[type](buffer, at, length);
    at += Math.ceil(columns[name].byteLength / 8) * 8;
  }
  return { ...header, columns };
}

export class Connection {
  // `hear(message)` gets every message, frames decoded; `lost(why)` is called if the way ends.
  constructor(hear, lost) {
    this.waiting = [];
    this.hear = hear;
    const notebook = window.frameElement && window.frameElement.tcplabChannel;
    if (notebook) this.byNotebook(notebook);
    else this.bySocket(lost);
  }

  byNotebook(channel) {
    this.post = (text) => channel.send(text);
    channel.hear((message) => this.take(message));
  }

  bySocket(lost) {
    const address = new URL("live", window.location.href.split("#")[0]);
    address.protocol = address.protocol.replace("http", "ws");
    this.socket = new window.WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.addEventListener("message", ({ data }) => this.take(data));
    this.socket.addEventListener("close", ({ reason }) => lost(reason));
    this.socket.addEventListener("open", () => {
      this.post = (text) => this.socket.send(text);
      this.waiting.splice(0).forEach((text) => this.post(text));
    });
  }

  take(data) {
    this.hear(typeof data === "string" ? JSON.parse(data) : decoded(data));
  }

  send(message) {
    const text = JSON.stringify(message);
    if (this.post) this.post(text);
    else this.waiting.push(text);
  }
}

// Lessons, defaults, and the choices that there are.
export async function offer() {
  const notebook = window.frameElement && window.frameElement.tcplabChannel;
  if (notebook) return notebook.offer;
  const answer = await window.fetch("offer.json");
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
