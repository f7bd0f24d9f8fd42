// A report's or a sweep's page: its graphs stand in the text.

const data = JSON.parse(document.getElementById("graphs").textContent);
const board = new PlotBoard(document.body, {
  name: "zoom",
  looks: data.looks,
  series: data.series,
  columns: new ColumnStore(data.columns),
  narrowest: 20,
});
// A link to what is folded opens it.
const reveal = () => {
  const target = document.getElementById(window.location.hash.slice(1));
  const fold = target && target.closest("details");
  if (fold) fold.open = true;
};
window.addEventListener("hashchange", reveal);
reveal();
// For tests and for the curious.
window.tcplabGraphs = {
  board,
  ready: board.show(data.graphs, data.span),
  counts: () => board.counts(),
  range: () => board.range(),
};
