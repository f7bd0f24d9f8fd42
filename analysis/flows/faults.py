"""What can be wrong with a capture: the engines give a name, the reader gets the sentence."""

from __future__ import annotations

FAULTS = {
    "cut": "it is cut short: the last record is not whole",
    "length": "a record claims an impossible length",
    "block": "a block is damaged, or a packet names an interface that was not described",
    "unpacking": "its compressed data is damaged or cut short",
}
