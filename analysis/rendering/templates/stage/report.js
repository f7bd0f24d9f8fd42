// The stage of a report: its time is that of the graphs, in ns since the first packet.

async function showStage() {
  await window.tcplabGraphs.ready;
  const stored = JSON.parse(document.getElementById("stage-data").textContent);
  const stage = new Stage(document.getElementById("stage"), board, { scale: 1e-9 });
  stage.show(await storedModels(stored));
  stage.go(stage.firstRepair());
  window.tcplabGraphs.stage = stage;
}
window.tcplabGraphs.staged = showStage();
