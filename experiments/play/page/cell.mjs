// The page in a notebook's cell: a frame of its own, whose way to Python is the widget's.

function apart(view) {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}

export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.title = "tcplab play";
    Object.assign(frame.style, { width: "100%", height: "56rem", border: "0" });
    frame.tcplabChannel = {
      offer: model.get("offer"),
      send: (text) => model.send({ text }),
      hear: (take) =>
        model.on("msg:custom", ({ text }, buffers) => take(text || apart(buffers[0]))),
    };
    frame.srcdoc = model.get("page");
    el.append(frame);
  },
};
