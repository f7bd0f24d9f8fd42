"""Sentences on extensions of TCP that a connection uses: Fast Open, Multipath TCP, AccECN."""

from collections.abc import Mapping

from analysis.analyze import short_numbers
from analysis.analyze.facts import ConnectionFacts, DirectionFacts
from analysis.analyze.listed import ListedCapture

_WAYS = ("a2b", "b2a")
Subflows = Mapping[int, int]
"""The number of the connection that each subflow joins, by its own."""


def subflows(capture: ListedCapture) -> Subflows:
    """Return the subflows whose connection is in the capture."""
    names = [f"mptcp_{name}_{way}" for name in ("key", "version", "token") for way in _WAYS]
    owners, joins = dict[int, int](), list[tuple[int, int]]()
    for number, *values in capture.values("connection", *names):
        keys, versions, tokens = values[:2], values[2:4], values[4:]
        version = max((each for each in versions if each is not None), default=0)
        owners |= {_token(key, version): number for key in keys if key}
        joins += [(number, token) for token in tokens if token is not None]
    return {number: owners[token] for number, token in joins if token in owners}


def _token(key: str, version: int) -> int:
    """Return the token of a key: the first 32 bits of its hash (RFC 8684, 6824)."""
    import hashlib  # takes longer to load than a small capture to read

    digest = hashlib.sha256 if version else hashlib.sha1
    return int.from_bytes(digest(bytes.fromhex(key)).digest()[:4], "big")


def sentences(facts: ConnectionFacts, joined: Subflows) -> list[str]:
    """Return a sentence on each extension."""
    ways = sorted(facts.directions, key=lambda way: way.ending)
    found = [_fast_open(ways[0]), _multipath(facts.number, ways, joined)]
    if all(way["ecn_counter"] for way in ways):
        options = sum(way["accecn_options"] for way in ways)
        found.append(f"ECN is accurate: {short_numbers.counted(options, 'option')} of counters.")
    return [sentence for sentence in found if sentence]


def _fast_open(way: DirectionFacts) -> str:
    """Return the cookie and the answer to the SYN's data."""
    sent, taken = way["syn_data"], way["syn_data_accepted"]
    parts = {"request": ["asked for a cookie"], "cookie": ["with a cookie"]}.get(
        way["fastopen"], []
    )
    if sent:
        size = short_numbers.size(sent)
        answer = "accepted" if taken == sent else f"{short_numbers.size(taken or 0)} accepted"
        answer = "not answered" if taken is None else answer if taken else "rejected"
        parts.append(f"{size} in the SYN, {answer}")
    return f"Fast Open: {', '.join(parts)}." if parts else ""


def _multipath(number: int, ways: list[DirectionFacts], joined: Subflows) -> str:
    if number in joined:
        return f"Multipath TCP: a subflow of connection {joined[number]}."
    if ways[0]["mptcp"] == "join":
        return "Multipath TCP: a subflow of a connection that is not in the capture."
    if ways[0]["mptcp"] != "capable":
        return ""
    if ways[1]["mptcp"] != "capable":
        return f"Multipath TCP: asked for, {'refused' if ways[1]['syns'] else 'not answered'}."
    own = [str(each) for each, owner in joined.items() if owner == number]
    version = f"Multipath TCP, version {ways[1]['mptcp_version']}"
    return f"{version}: joined by connection {short_numbers.listed(own)}." if own else f"{version}."
