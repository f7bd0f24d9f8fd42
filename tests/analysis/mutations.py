"""Capture files that nobody made on purpose: conversations by chance and real captures, repacked,
spliced and damaged.

    TCPLAB_FUZZ_MINUTES=10 ./tcplab test -n 2 tests/analysis/test_flows_engines.py

makes ever new ones, each from a number; `file_by_chance(number)` makes it again.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from functools import cache
from pathlib import Path
from random import Random

import lz4.frame

from tests.analysis import frames, wrappings
from tests.analysis.conversations import by_chance
from tests.analysis.frames import (
    ETHERNET,
    LINUX_COOKED,
    LINUX_COOKED_2,
    LOOPBACK,
    RAW,
    MadeInterface,
    Record,
)
from tests.analysis.zstd_packing import zstd_packed

REAL = sorted((Path(__file__).parent / "data" / "run").rglob("*.pcap"))
"""Captures of real traffic with losses, SACK and timestamps; little-endian and with nanoseconds."""


def file_by_chance(seed: int) -> bytes:
    """A file that a number chooses: of any kind, perhaps two in one, perhaps packed, and most of
    them damaged.
    """
    chance = Random(seed)
    content = _container(_records(chance), chance)
    if chance.random() < 0.15:
        content = spliced(content, _container(_records(chance), chance), chance)
    content = damaged(content, chance)
    pack = chance.choice([None] * 5 + [gzip_of, zstd_of, bzip2_of, xz_of, lz4_of])
    return damaged(pack(content, chance), chance) if pack else content


_WRAPPINGS = (
    wrappings.within(4),
    wrappings.gre(0x6558, 0x2000, b"\0\0\0\5", wrappings.FRAME),
    wrappings.vxlan(5),
    wrappings.geneve(9, bytes(8)),
    wrappings.gtp(b"\0\0\0\x85\1\0\0\0", 4),
    wrappings.authenticated,
)


def _records(chance: Random) -> list[Record]:
    records = _bare_records(chance)
    if chance.random() < 0.7:
        return records
    wrap = chance.choice(_WRAPPINGS)
    made: list[Record] = []
    for record in records:
        if record.data[12:14] != b"\x08\0" or len(record.data) < 54 or chance.random() < 0.1:
            made.append(record)
            continue
        packet = wrap(record.data[14:]) if chance.random() < 0.8 else record.data[14:]
        size = chance.choice([8, 64, 200, 4000]) + chance.choice([0, 0, 0, 1])
        parts = [record.data[:14] + part for part in wrappings.fragments(packet, size)]
        made += [Record(record.time, part, len(part)) for part in parts[:20]]
    return [_shaken(record, chance) for record in made] if chance.random() < 0.3 else made


def _bare_records(chance: Random) -> list[Record]:
    if chance.random() < 0.5:
        return by_chance(chance.randrange(10**9)).sorted()
    records = real_records(chance.choice(REAL))
    begin = chance.randrange(len(records))
    some = list(records[begin : begin + chance.randrange(1, 80)])
    return [_shaken(record, chance) for record in some] if chance.random() < 0.5 else some


def _shaken(record: Record, chance: Random) -> Record:
    """A record whose packet is no longer what was sent: an octet of its headers, its length or its
    time is another.
    """
    if chance.random() < 0.9 or not record.data:
        return record
    data = bytearray(record.data)
    data[chance.randrange(min(len(data), 70))] = chance.choice(
        [0, 1, 4, 5, 64, 127, 128, 255, chance.randrange(256)]
    )
    wire = chance.choice([record.wire, record.wire, 0, len(data), 2**16, 2**31])
    time = record.time + chance.choice([0, 0, -1, 10**9, -(10**12)])
    return Record(
        max(time, 0), bytes(data[: chance.choice([len(data), chance.randrange(len(data))])]), wire
    )


@cache
def real_records(path: Path) -> tuple[Record, ...]:
    """The packets of a real capture."""
    content, found, at = path.read_bytes(), [], 24
    while at < len(content):
        seconds, nanoseconds, captured, wire = struct.unpack_from("<IIII", content, at)
        at += 16 + captured
        found.append(Record(seconds * 10**9 + nanoseconds, content[at - captured : at], wire))
    return tuple(found)


def _container(records: list[Record], chance: Random) -> bytes:
    order = chance.choice("<>")
    if chance.random() < 0.5:
        link = chance.choice(
            [ETHERNET, ETHERNET, ETHERNET, RAW, LINUX_COOKED, LINUX_COOKED_2, LOOPBACK]
        )
        put = [_on(link, record) for record in records] if chance.random() < 0.9 else records
        return frames.pcap(
            put, link, order, chance.random() < 0.5, chance.choice([2**18, 2**18, 2**18, 60])
        )
    interfaces = [
        MadeInterface(ETHERNET, chance.choice([None, 9, 3, 0x80 | 20]), 0),
        MadeInterface(RAW),
    ]
    return frames.pcapng(records, interfaces, order, frames.other_block(order))


def _on(link: int, record: Record) -> Record:
    """The packet of an Ethernet frame on another kind of link."""
    head = frames.link_header(link, 6 if record.data[12:13] == b"\x86" else 4)
    return Record(record.time, head + record.data[14:], max(record.wire + len(head) - 14, 0))


def spliced(one: bytes, other: bytes, chance: Random) -> bytes:
    """The beginning of one file and the end of another."""
    return one[: chance.randrange(len(one) + 1)] + other[chance.randrange(len(other)) :]


def gzip_of(content: bytes, chance: Random) -> bytes:
    """In one member or two."""
    return b"".join(gzip.compress(part, 1) for part in _two(content, chance))


def zstd_of(content: bytes, chance: Random) -> bytes:
    """In one frame or two, with a checksum or without."""
    checksum = chance.random() < 0.5
    return b"".join(zstd_packed(part, checksum, 1) for part in _two(content, chance))


def _two(content: bytes, chance: Random) -> tuple[bytes, bytes]:
    cut = chance.choice([len(content), chance.randrange(len(content) + 1)])
    return content[:cut], content[cut:]


def bzip2_of(content: bytes, chance: Random) -> bytes:
    """In one stream or two."""
    return b"".join(bz2.compress(part, 1) for part in _two(content, chance) if part)


def xz_of(content: bytes, chance: Random) -> bytes:
    """In one stream or two, with one of the checksums."""
    check = chance.choice([lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256])
    return b"".join(
        lzma.compress(part, check=check, preset=0) for part in _two(content, chance) if part
    )


def lz4_of(content: bytes, chance: Random) -> bytes:
    """In one frame or two, of linked blocks or not, with checksums or without."""
    linked, marked = chance.random() < 0.5, chance.random() < 0.5
    return b"".join(
        lz4.frame.compress(
            part,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=linked,
            content_checksum=marked,
            block_checksum=marked,
            store_size=chance.random() < 0.5,
        )
        for part in _two(content, chance)
        if part
    )


def damaged(content: bytes, chance: Random) -> bytes:
    """Some octets changed, a bit flipped, a run of octets doubled or left out, the end cut off; or
    none of it.
    """
    made = bytearray(content or b"\0")
    for _ in range(chance.choice([0, 0, 0, 1, 3, 20])):
        made[chance.randrange(len(made))] = chance.choice(
            [0, 1, 127, 128, 255, chance.randrange(256)]
        )
    if chance.random() < 0.2:
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    place, length = chance.randrange(len(made)), chance.randrange(100)
    if chance.random() < 0.2:
        made[place:place] = made[place : place + length]
    elif chance.random() < 0.2:
        del made[place : place + length]
    return bytes(made[: chance.randrange(len(made) + 1)] if chance.random() < 0.1 else made)
