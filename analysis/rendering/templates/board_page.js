// A report's or a sweep's page: its graphs stand in the text.

const data = JSON.parse(document.getElementById("graphs").textContent);
const board = new PlotBoard(document.body, {
  name: "zoom",
  looks: data.looks,
  series: data.series,
  columns: new ColumnStore(data.columns),
  narrowest: 20,
});
// For tests and for the curious.
window.tcplabGraphs = {
  board,
  ready: board.show(data.graphs, data.span),
  counts: () => board.counts(),
  range: () => board.range(),
};
