"""The round trips of a capture, told by the ACKs."""

from __future__ import annotations

from analysis.tabular.column_table import ColumnTable

_COLUMNS = ("forward", "sequence", "acknowledgement", "payload")


def segments_by_round(packets: ColumnTable, by_a: bool) -> list[int]:
    """How many data segments the sender sent in each round trip; the last may be cut short.

    A round trip ends with the first ACK of anything that was sent in it: what is sent from then on
    is let out by its ACKs. `packets` are those of one connection in the order of the sender's
    capture, with the sequence numbers of their direction; `by_a` as in
    analysis.measures.trial_captures.End. Empty if nothing was sent.
    """
    rounds, sent, highest, end = [], 0, 0, None
    columns = (packets[name].to_list() for name in _COLUMNS)
    for forward, sequence, acknowledged, payload in zip(*columns, strict=True):
        if forward == by_a and payload:
            sent, highest = sent + 1, max(highest, sequence + payload)
        elif sent and forward != by_a and (acknowledged or 0) > (end or 1):
            rounds.append(sent)
            sent, end = 0, highest
    return [*rounds, sent] if sent else rounds
