"""Figures as a reader wants them: three digits and the unit that fits."""

from collections.abc import Sequence

from topologies.units import DECIMAL, TIMES

NOTHING = "\N{EN DASH}"
_STEPS = [(prefix, step) for prefix, step in reversed(DECIMAL.items()) if prefix]


def counted(value: int, thing: str, several: str = "") -> str:
    """`1 packet`, `2 packets`; `several` is the plural if it is not made with an s."""
    return f"{value:,} {thing if value == 1 else several or f'{thing}s'}"


def listed(several: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([*([", ".join(several[:-1])] if several[:-1] else []), *several[-1:]])


def end(host: str, port: int) -> str:
    """Return address and port, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def size(octets: int) -> str:
    """Bytes, decimal: `1.23 MB`."""
    return _scaled(octets, "B")


def rate(bits: float | None) -> str:
    """Bits per second: `9.51 Mbit/s`."""
    return NOTHING if bits is None else _scaled(bits, "bit/s")


def seconds(nanoseconds: int) -> str:
    """Return a duration: `18.9 s`, `80.2 ms`, `41 us`."""
    for unit in ("s", "ms", "us"):
        if nanoseconds >= 0.9995 * TIMES[unit]:
            return f"{digits(nanoseconds / TIMES[unit])} {unit}"
    return f"{nanoseconds} ns" if nanoseconds else "0 s"


def milliseconds(nanoseconds: int | None) -> str:
    """Format a duration in ms, so that a column can be compared."""
    return NOTHING if nanoseconds is None else f"{digits(nanoseconds / TIMES['ms'])} ms"


def share(part: float, whole: float) -> str:
    """`12 %`; a share that is not zero is never written as 0."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.0f} %" if percent >= 10 or not percent else f"{max(percent, 0.01):.2g} %"


def _scaled(value: float, unit: str) -> str:
    for letter, step in _STEPS:
        if value >= step:
            return f"{digits(value / step)} {letter}{unit}"
    return f"{value:.0f} {unit}"


def digits(value: float) -> str:
    """Format with three digits, without trailing zeros or powers of ten."""
    if round(value, 1) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 or not value else f"{value:.6f}".rstrip("0")
