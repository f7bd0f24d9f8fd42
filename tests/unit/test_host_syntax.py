"""Sources are parsed by threads beside each other."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor

from testbed.host.job_archive import parsed


def test_threads_parse_beside_each_other() -> None:
    """A collection of garbage may hand the turn to another thread in the middle of a tree."""

    def hand_over(_phase: str, _facts: object) -> None:
        time.sleep(0)

    source = "\n".join(f"x = [{'(' * depth}{depth}{')' * depth}]" for depth in range(60))
    before = gc.get_threshold()
    gc.callbacks.append(hand_over)
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parsed, [source] * 60))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(hand_over)
    assert {len(tree.body) for tree in trees} == {60}
