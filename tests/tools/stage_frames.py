"""Frame times of the stage with made packets in flight, in a headless browser.

    .venv/bin/python -m tests.tools.stage_frames

Two strips and their playhead move by a packet a frame. A frame is from the call until its pixels
are read back.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from analysis.rendering import page_files
from tests.analysis.browser import Page, browser

_IN_FLIGHT = (10, 100, 300, 1_000, 2_000)
_PACKETS = 20_000
_EMPTY = {"title": "Frames", "answer": "", "made": "", "stage": '{"stages": [], "columns": []}'}
_MEASURE = """
(async () => {{
  const flight = 0.1, gap = flight / {count}, many = {packets};
  const each = (of) => Float64Array.from({{ length: many }}, (_, at) => of(at));
  const data = {{
    sent: each((at) => at * gap), arrived: each((at) => at % 50 === 7 ? -1 : at * gap + flight),
    sequence: each((at) => 1 + 1448 * at), length: each(() => 1448),
    kind: each((at) => at % 50 === 9 ? 2 : 1), flow: each(() => 0), marked: each(() => 0) }};
  const acks = {{ sent: each((at) => at * gap + flight),
    arrived: each((at) => at * gap + 2 * flight),
    acknowledgement: each((at) => 1 + 1448 * at), flow: each(() => 0) }};
  const blocks = {{ ack: [], left: [], right: [] }}, samples = {{ time: [], window: [] }};
  const kinds = ["none", "new", "sack"].map((name) => ({{ name }}));
  const shape = {{ nodes: ["h1", "h2"], delay: 0.04, rate: 12112 / gap, queue: 9999, loss: true }};
  const run = {{ label: "made", shape, kinds, data, acks, blocks, samples }};
  const model = () => new StageModel(run);
  const board = new PlotBoard(document.getElementById("graphs"));
  await board.show([], [0, 1]);
  const stage = new Stage(document.getElementById("stage"), board);
  stage.show([model(), model()]);
  const times = [];
  for (let frame = 0; frame < 60; frame += 1) {{
    stage.time = 4 * flight + frame * gap;
    const before = performance.now();
    stage.draw();
    for (const {{ canvas }} of stage.strips) canvas.getContext("2d").getImageData(0, 0, 1, 1);
    times.push(performance.now() - before);
  }}
  times.sort((one, other) => one - other);
  return [times[30], times[57], stage.models[0].flying(stage.time).length];
}})()
"""


def frames(page: Page, count: int) -> tuple[float, float, int]:
    """Return the median and the 95th percentile of a frame in ms, and the dots of a strip."""
    packets = min(_PACKETS, 20 * count)
    median, high, flying = page.run(_MEASURE.format(count=count, packets=packets))
    return median, high, int(flying)


def main() -> None:
    with tempfile.TemporaryDirectory() as place, browser(Path(place)) as page:
        file = Path(place) / "stage.html"
        file.write_text(page_files.render("share.html", _EMPTY), encoding="utf-8")
        print("in flight  median ms  95 % ms   (two strips)")
        for count in _IN_FLIGHT:
            page.open(file, 1400)
            median, high, flying = frames(page, count)
            print(f"{flying:9}  {median:9.1f}  {high:7.1f}")


if __name__ == "__main__":
    main()
