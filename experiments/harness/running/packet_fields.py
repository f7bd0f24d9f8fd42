"""Names of the bytes of a captured Ethernet frame: RFC 791, 768, 8200 and 9293."""

from __future__ import annotations

from itertools import zip_longest


def _fields(layer: str, text: str) -> dict[int, str]:
    pairs = (field.split(" ", 1) for field in text.split(", "))
    return {int(start): f"{layer} {name}" for start, name in pairs}


_PAYLOAD = "payload"
_ETHERNET = {**_fields("Ethernet", "0 destination, 6 source, 12 type"), 14: _PAYLOAD}
_IPV4 = _fields(
    "IP",
    "0 version, 1 DSCP and ECN, 2 length, 4 identification, 6 fragment offset, 8 TTL, 9 protocol,"
    " 10 checksum, 12 source, 16 destination, 20 options",
)
_IPV6 = _fields(
    "IP", "0 version, 1 flow label, 4 length, 6 next header, 7 hop limit, 8 source, 24 destination"
)
_TCP = _fields(
    "TCP",
    "0 source port, 2 destination port, 4 sequence number, 8 acknowledgement number, 12 flags,"
    " 14 window, 16 checksum, 18 urgent pointer, 20 options",
)
_UDP = _fields("UDP", "0 source port, 2 destination port, 4 length, 6 checksum")
_IP = 14  # where IP's header begins


def difference(expected: bytes, given: bytes) -> str:
    """Return the first byte that differs, from 1, and the fields that differ, in words."""
    pairs = enumerate(zip_longest(expected, given))
    offsets = [offset for offset, (own, other) in pairs if own != other]
    starts = _starts(expected)
    names = dict.fromkeys(starts[max(n for n in starts if n <= offset)] for offset in offsets)
    return f"from byte {offsets[0] + 1} on ({', '.join(names)})"


def _starts(frame: bytes) -> dict[int, str]:
    """Return the names of a frame's fields by their first bytes."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and len(frame) > _IP + 20:
        header, protocol, names = frame[_IP] % 16 * 4, frame[_IP + 9], _IPV4
    elif kind == b"\x86\xdd" and len(frame) > _IP + 40:
        header, protocol, names = 40, frame[_IP + 6], _IPV6
    else:
        return _ETHERNET
    above = _above(protocol, frame[_IP + header :])
    return {**_ETHERNET, **_moved(names, _IP), **_moved(above, _IP + header)}


def _above(protocol: int, segment: bytes) -> dict[int, str]:
    if protocol == 6 and len(segment) >= 20:
        return {**_TCP, segment[12] // 16 * 4: _PAYLOAD}
    return {**_UDP, 8: _PAYLOAD} if protocol == 17 else {0: _PAYLOAD}


def _moved(names: dict[int, str], by: int) -> dict[int, str]:
    return {offset + by: name for offset, name in names.items()}
