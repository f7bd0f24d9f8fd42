"""Rules for the receiver's window."""

from __future__ import annotations

from analysis.analyze import short_numbers
from analysis.analyze.verdict_signs import MOST, Cause, Signs, SlownessVerdict

_SCALING = "req_1323_ws/ts"


def window(signs: Signs) -> SlownessVerdict | None:
    time, main = signs.windowed - signs.closed, signs.main
    if time < MOST * signs.time or signs.reads_slowly:
        return None
    window, trip = int(main.back("max_win_adv")), short_numbers.milliseconds(signs.trip)
    is_known = main["options_known"] and main.back("options_known")
    is_scaled = all(ask.startswith("Y") for ask in (main[_SCALING], main.back(_SCALING)))
    allowed = short_numbers.rate(signs.allowed) if signs.trip else "no more"
    why = f"the receiver's {window / 1024:.3g} KiB window at {trip} allows {allowed}"
    cause = Cause.WINDOW
    remedy = "a larger receive buffer (net.ipv4.tcp_rmem, SO_RCVBUF)"
    if is_known and not is_scaled:
        cause, remedy = Cause.UNSCALED, "window scaling at both ends"
        why += ", for windows are not scaled"
    packets = signs.packets("limited_receiver")
    return SlownessVerdict(cause, why, remedy, time / signs.time, packets=packets)


def closed(signs: Signs) -> SlownessVerdict | None:
    time = signs.windowed if signs.reads_slowly else signs.closed
    if time < MOST * signs.time:
        return None
    closed = short_numbers.seconds(signs.closed)
    why = f"the receiver's program reads too slowly: its window was closed for {closed}"
    if not signs.closed:
        why = "the receiver's program reads too slowly: its window is nearly full"
    packets = signs.packets("limited_receiver")
    return SlownessVerdict(
        Cause.CLOSED, why, "the receiving program", time / signs.time, packets=packets
    )
