// Searches the runs, and makes the command that compares those that are ticked.

const rows = [...document.querySelectorAll("#runs tbody tr")];
const search = document.getElementById("search");
const chosen = document.getElementById("chosen");
const command = document.getElementById("command");

// Every word must be there, in any order.
function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) row.hidden = !words.every((word) => row.dataset.words.includes(word));
  const shown = rows.filter((row) => !row.hidden).length;
  document.getElementById("count").textContent = `${shown} shown`;
}

function quoted(word) {
  return /^[\w./+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function tick() {
  const folders = rows
    .map((row) => row.querySelector("input:checked"))
    .filter(Boolean)
    .map((box) => box.value);
  chosen.hidden = folders.length < 2;
  command.textContent = `./tcplab compare ${folders.map(quoted).join(" ")}`;
  document.getElementById("copied").textContent = "";
}

// A page from a file may not reach the clipboard: then the command is selected, to be copied.
async function copy() {
  let told = "Copied.";
  try {
    await navigator.clipboard.writeText(command.textContent);
  } catch {
    window.getSelection().selectAllChildren(command);
    told = "Selected: copy it.";
  }
  document.getElementById("copied").textContent = told;
}

search.addEventListener("input", find);
document.getElementById("runs").addEventListener("change", tick);
document.getElementById("copy").addEventListener("click", copy);
find();
tick();
window.tcplabGraphs = { ready: null };
