"""Captures without a process: the kernel writes packets into memory, a block at a time (packet(7)).

tcpdump wakes up for each packet, half of the cost of a fast flow. Blocks of a mapped ring
(TPACKET_V3) are read when one is full, or the file is asked for; the guest has one processor, so
the kernel is not amid a packet. Files have nanoseconds (pcap-savefile(5)).
"""

import mmap
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_ALL = 0x0003  # ETH_P_ALL, include/uapi/linux/if_ether.h
_PACKET = 263  # SOL_PACKET; the others are of include/uapi/linux/if_packet.h
_RX_RING, _STATISTICS, _VERSION, _THIRD = 5, 6, 10, 2
_OUTGOING, _LOOPBACK = 4, "lo"
_KERNEL, _USER = 0, 1  # TP_STATUS
_HAS_TAG, _HAS_PROTOCOL = 1 << 4, 1 << 6  # TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID
_BLOCK = struct.Struct("=IIIII")  # tpacket_block_desc: version, private, status, packets, first
_STATUS = 8
_FRAME = struct.Struct("=IIIIIIH")  # tpacket3_hdr up to tp_mac
_VLAN_AT, _VLAN_OF = 32, struct.Struct("=IH")  # tp_vlan_tci, tp_vlan_tpid
_KIND_OF = 48 + 10  # sockaddr_ll.sll_pkttype after the header
_FOREVER = 0x7FFFFFFF  # ms until an open block is handed over anyway
_RECORD = struct.Struct("=IIII")
_MACS, _TAG, _LONGEST = 12, 4, 262144  # bytes: in front of a tag, of it, of a packet
_HEAD = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, _LONGEST, 1)  # nanoseconds, Ethernet
EMPTY = len(_HEAD)  # bytes of a file without packets
_VLAN = 0x8100
_BLOCKS = 4
_MOST, _LEAST = 1 << 20, 1 << 17  # bytes of a block; the longest packet is 65,549
_TOGETHER = 256 << 20  # bytes of all rings
HEADERS = 128  # bytes that are kept of a packet where only headers are
WHOLE = 16 << 20  # bytes of a file up to which packets are whole, if no other number is given


def block_size(rings: int) -> int:
    """Return the bytes of a block, if there are so many rings: a power of two."""
    each = _TOGETHER // (rings * _BLOCKS)
    return max(_LEAST, min(_MOST, 1 << each.bit_length() - 1))


@dataclass
class PacketRing:
    """Packets of the thread's interface in a file; headers after `whole` bytes. Raises OSError."""

    interface: str
    file: Path
    block: int
    whole: int
    missed: int = 0
    _next: int = 0
    _taken: int = 0  # packets of the next block that were taken while it was open
    _at: int = 0
    _written: int = 0
    _socket: socket.socket = field(init=False)
    _memory: mmap.mmap = field(init=False)
    _out: int = field(init=False)

    def __post_init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(_PACKET, _VERSION, _THIRD)
        size, frame = self.block * _BLOCKS, 1 << 11
        request = (self.block, _BLOCKS, frame, size // frame, _FOREVER, 0, 0)
        self._socket.setsockopt(_PACKET, _RX_RING, struct.pack("=7I", *request))
        self._memory = mmap.mmap(self._socket.fileno(), size)
        self._out = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        os.write(self._out, _HEAD)
        self._socket.bind((self.interface, _ALL))

    def fileno(self) -> int:
        """Return the descriptor that can be read once a block is full."""
        return self._socket.fileno()

    def take(self) -> None:
        """Write the packets of full blocks, which the kernel can fill again."""
        while self._memory[(status := self._next * self.block + _STATUS)] & _USER:
            self._write()
            struct.pack_into("=I", self._memory, status, _KERNEL)
            self._next, self._taken = (self._next + 1) % _BLOCKS, 0

    def flush(self) -> None:
        """Write all packets so far, also those of the block that is not full."""
        self.take()
        self._write()

    def close(self) -> None:
        """Write all packets, and count those that the kernel had no place for."""
        self.flush()
        statistics = self._socket.getsockopt(_PACKET, _STATISTICS, 12)
        self.missed = struct.unpack("=III", statistics)[1]
        self._memory.close()
        self._socket.close()
        os.close(self._out)

    def _write(self) -> None:
        """Write the packets of the next block that were not written yet."""
        begin = self._next * self.block
        _version, _private, _status, count, first = _BLOCK.unpack_from(self._memory, begin)
        if not self._taken:
            self._at = begin + first
        if pieces := self._records(count - self._taken):
            self._written += os.write(self._out, b"".join(pieces))
            os.fdatasync(self._out)
            os.posix_fadvise(self._out, 0, 0, os.POSIX_FADV_DONTNEED)
        self._taken = count

    def _records(self, count: int) -> list[bytes]:
        """Return records of the next packets. One loop without calls: it is of every packet."""
        memory, at, pieces = self._memory, self._at, list[bytes]()
        unpack, pack, take = _FRAME.unpack_from, _RECORD.pack, pieces.append
        is_loopback = self.interface == _LOOPBACK
        most = HEADERS if self._written > self.whole else _LONGEST
        for _ in range(count):
            step, seconds, nanoseconds, kept, length, status, mac = unpack(memory, at)
            begin, frame, at = at + mac, at, at + step
            if is_loopback and memory[frame + _KIND_OF] == _OUTGOING:
                continue  # it comes in as well
            data = memory[begin : begin + min(kept, most)]
            if status & _HAS_TAG:
                # The tag of a VLAN, which the kernel keeps apart.
                tag, kind = _VLAN_OF.unpack_from(memory, frame + _VLAN_AT)
                tagged = struct.pack(">HH", kind if status & _HAS_PROTOCOL else _VLAN, tag & 0xFFFF)
                data, length = data[:_MACS] + tagged + data[_MACS:], length + _TAG
            take(pack(seconds, nanoseconds, len(data), length))
            take(data)
        self._at = at
        return pieces


def frames_of(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the frames of a file that a ring wrote, each with its time in nanoseconds."""
    with file.open("rb") as opened:
        opened.seek(EMPTY)
        while head := opened.read(_RECORD.size):
            seconds, nanoseconds, length, _whole = _RECORD.unpack(head)
            yield seconds * 10**9 + nanoseconds, opened.read(length)
