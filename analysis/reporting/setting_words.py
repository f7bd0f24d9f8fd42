"""Parameters of a run or sweep in words of a textbook, instead of names of options."""

from __future__ import annotations

from collections.abc import Mapping

_WORDS = {
    "bw": "link rate {}",
    "delay": "delay {} one way",
    "loss": "random loss {}",
    "jitter": "jitter {}",
    "queue": "room for {} packets in a queue",
    "duration": "sending for {}",
    "spread": "starts drawn within {}",
    "processing": "delays drawn up to {} of a packet's time on the link",
    "cc": "congestion control {}",
    "sack": "SACK {}",
    "streams": "TCP flows: {}",
    "udp": "UDP at {}",
    "late": "flows that start late: {}",
    "beside": "another flow with {}",
    "window": "send and receive buffers of {}",
    "size": "transfers of {}",
    "period": "hosts with settings of the {}",
    "queueing": "queue discipline {}",
}
_USUAL = {
    "late": "none",
    "beside": "none",
    "period": "today",
    "jitter": "0s",
    "queueing": "fifo",
    "streams": "1",
}
"""Values that a reader takes for granted, or that say that something is absent."""
_OF_MANY = ("spread", "processing")


def setting_words(parameters: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return each setting as the words before its value, the value, and the words after it."""
    is_alone = parameters.get("streams") == "1" and parameters.get("beside") in (None, "none")
    told = []
    for name, value in parameters.items():
        if not value or _USUAL.get(name) == value or (is_alone and name in _OF_MANY):
            continue
        before, _, after = _WORDS.get(name, f"{name} {{}}").partition("{}")
        told.append((before, value, after))
    return told
