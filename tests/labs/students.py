"""Every kind of student: the hand-in of the SACK lab, and what the grader should say of it."""

from __future__ import annotations

from tests.labs.dishonest_students import (
    captures_of_another,
    dated_as_native,
    edited,
    edited_and_signed,
    fabricated,
    numbers_of_another,
    relabelled,
    relabelled_as_native,
    said_to_be_native,
    zip_of_another,
)
from tests.labs.honest_students import (
    follows,
    honest,
    honest_in_other_units,
    honest_in_real_time,
    honest_rounded,
    mixed_up,
    off_by_eight,
    without_units,
)
from tests.labs.hostile_students import (
    bomb,
    device,
    endless_toml,
    hostile_words,
    huge_toml,
    link,
    manifest_elsewhere,
    zip_slip,
)
from tests.labs.spoilt_hand_ins import (
    by_windows,
    cut_short,
    damaged,
    empty,
    half_a_zip,
    no_run,
    no_zip,
    packed_by_hand,
    the_same_again,
    twice,
)
from tests.labs.student import Kind

POINTS = 10.0
"""Of the questions that the program marks, without the second run and the forecast."""
KINDS = (
    Kind("honest", "graded", honest, points=(POINTS, POINTS), said="it gave your captures"),
    Kind("honest in other units", "graded", honest_in_other_units, points=(POINTS, POINTS)),
    Kind("honest, rounded, as a folder", "graded", honest_rounded, points=(POINTS - 2, POINTS)),
    Kind(
        "without units",
        "graded",
        without_units,
        points=(POINTS - 2, POINTS - 2),
        said="the unit is missing",
    ),
    Kind(
        "off by eight", "graded", off_by_eight, points=(POINTS - 1.5, POINTS - 1.5), said="8 times"
    ),
    Kind(
        "mixed up", "graded", mixed_up, points=(POINTS - 1, POINTS - 1), said="arrived there twice"
    ),
    Kind(
        "follow-through", "graded", follows, points=(POINTS - 1, POINTS - 1), said="follows rightly"
    ),
    Kind("fabricated numbers", "graded", fabricated, points=(0, 7)),
    Kind(
        "numbers of another",
        "look",
        numbers_of_another,
        frozenset({"other variant"}),
        points=(0, 9),
    ),
    Kind(
        "captures of another",
        "look",
        captures_of_another,
        frozenset({"captures", "same captures", "other settings"}),
    ),
    Kind("relabelled captures", "look", relabelled, frozenset({"captures", "same captures"})),
    Kind("edited", "look", edited, frozenset({"manifest", "captures"}), said="differs from packet"),
    Kind(
        "edited and signed",
        "look",
        edited_and_signed,
        frozenset({"captures"}),
        said="differs from packet",
    ),
    Kind(
        "a friend's zip",
        "look",
        zip_of_another,
        frozenset({"whose", "captures"}),
        said="No points yet",
        runs=False,
    ),
    Kind(
        "honest in real time",
        "graded",
        honest_in_real_time,
        points=(POINTS, POINTS),
        said="real time",
    ),
    Kind("said to be native", "look", said_to_be_native, frozenset({"not real time", "witnesses"})),
    Kind("relabelled as native", "look", relabelled_as_native, frozenset({"not real time"})),
    Kind("dated as native", "look", dated_as_native, frozenset({"not real time"})),
    Kind(
        "cut short",
        "look",
        cut_short,
        frozenset({"manifest", "cut short"}),
        (POINTS, POINTS),
        "ends there",
    ),
    Kind(
        "damaged",
        "look",
        damaged,
        frozenset({"manifest", "captures", "unreadable"}),
        (POINTS, POINTS),
    ),
    Kind("no run", "look", no_run, frozenset({"no run"}), points=(POINTS, POINTS)),
    Kind("half a zip", "could not grade", half_a_zip, said="no whole zip", runs=False),
    Kind("no zip", "could not grade", no_zip, said="no whole zip", runs=False),
    Kind("zip slip", "could not grade", zip_slip, said="leave its folder", runs=False),
    Kind("bomb", "could not grade", bomb, said="very much more", runs=False),
    Kind("link", "could not grade", link, said="link or a device", runs=False),
    Kind("device", "could not grade", device, said="link or a device", runs=False),
    Kind("endless TOML", "could not grade", endless_toml, said="cannot be read", runs=False),
    Kind("huge TOML", "could not grade", huge_toml, said="larger than 64 KiB", runs=False),
    Kind(
        "hostile words",
        "graded",
        hostile_words,
        points=(POINTS - 1, POINTS - 1),
        said="&lt;script&gt;",
    ),
    Kind(
        "manifest elsewhere",
        "look",
        manifest_elsewhere,
        frozenset({"manifest"}),
        points=(POINTS, POINTS),
    ),
    Kind("empty", "could not grade", empty, said="answers.toml", runs=False),
    Kind("honest, packed by hand", "graded", packed_by_hand, points=(POINTS, POINTS)),
    Kind("honest by Windows", "graded", by_windows, points=(POINTS, POINTS)),
    Kind("handed in the same again", "graded", the_same_again, points=(POINTS, POINTS)),
    Kind("handed in twice", "look", twice, frozenset({"twice"}), points=(POINTS, POINTS)),
)
