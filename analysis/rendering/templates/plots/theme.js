{# Colours of what is drawn. Python and callers name Okabe and Ito's; on a dark ground each has a
   lighter twin, since blue on black cannot be read. Paper is light. #}

const LIGHT = { ink: "#333333", grid: "#dde2e7", axis: "#666666", paper: "#ffffff" };
const DARK = { ink: "#c9d1d9", grid: "#2f363d", axis: "#8b949e", paper: "#14171a" };
const TWINS = {
  "#0072b2": "#58a6e8",
  "#d55e00": "#ff8c42",
  "#009e73": "#2fcf9f",
  "#e69f00": "#f2b632",
  "#cc79a7": "#e79ac4",
  "#56b4e9": "#a5d8f6",
  "#8a3fa0": "#d28be8",
  "#666666": "#a9b1ba",
  "#000000": "#f0f3f6",
};
const darkness = window.matchMedia("(prefers-color-scheme: dark)");
const paper = { forced: false };

function isDark() {
  return darkness.matches && !paper.forced;
}

function theme() {
  return isDark() ? DARK : LIGHT;
}

function coloured(colour) {
  return (isDark() && TWINS[colour.toLowerCase()]) || colour;
}

// What `draw` draws is for paper: light whatever the screen is.
function onPaper(draw) {
  const before = paper.forced;
  paper.forced = true;
  try {
    return draw();
  } finally {
    paper.forced = before;
  }
}
