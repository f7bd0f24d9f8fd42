// One file of the stage to hand on: the server's empty page, with the packets of the runs inside.

const TIMES = ["sent", "arrived", "time"];
const TABLES = ["data", "acks", "blocks", "samples"];
const MICRO = 1e6;
const SOON = 1000; // ms until a downloaded file's address is given back

// The page as text; `words` are its title, its answer and how it was made.
export async function sharedPage(models, words) {
  const answer = await window.fetch("share.html");
  if (!answer.ok) throw new Error(await answer.text());
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  page.getElementById("question").textContent = page.title = words.title;
  page.getElementById("answer").textContent = words.answer;
  page.getElementById("made").textContent = words.made;
  const stored = JSON.stringify(await storedOf(models)).replaceAll("<", "\\u003c");
  page.getElementById("stage-data").textContent = stored;
  return `<!doctype html>\n${page.documentElement.outerHTML}`;
}

export function download(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), SOON);
}

// As analysis/graphs/stored.py stores it.
async function storedOf(models) {
  const columns = [];
  const put = async (name, values) => {
    columns.push(await packed(wholeNumbers(values, TIMES.includes(name) ? MICRO : 1)));
    return columns.length - 1;
  };
  const stages = [];
  for (const model of models) {
    const stage = { label: model.label, shape: model.shape, flows: model.flows };
    for (const table of TABLES) {
      stage[table] = {};
      for (const [name, values] of Object.entries(model[table])) {
        stage[table][name] = await put(name, values);
      }
    }
    stages.push(stage);
  }
  return { stages, columns, kinds: models[0].kinds };
}

// What never arrived stays -1.
function wholeNumbers(values, scale) {
  return Array.from(values, (value) => (value < 0 ? -1 : Math.round(value * scale)));
}

// Differences with the sign in the lowest bit, bytes of one weight together, deflate, base64.
async function packed(whole) {
  let before = 0;
  const zigzag = whole.map((value) => {
    const difference = value - before;
    before = value;
    return difference < 0 ? -2 * difference - 1 : 2 * difference;
  });
  const most = zigzag.reduce((one, other) => Math.max(one, other), 1);
  const width = Math.max(1, Math.ceil(Math.log2(most + 1) / 8));
  const planes = new Uint8Array(width * whole.length);
  zigzag.forEach((value, at) => {
    for (let plane = 0; plane < width; plane += 1) {
      planes[plane * whole.length + at] = Math.floor(value / 256 ** plane) % 256;
    }
  });
  return { length: whole.length, step: 1, width, data: await deflated(planes) };
}

async function deflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  const short = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (const byte of short) text += String.fromCharCode(byte);
  return window.btoa(text);
}
