"""Settings on pages are words; what says that something is absent is left out."""

from __future__ import annotations

from analysis.reporting.studies import setting_words


def test_options_become_words_and_absent_things_are_left_out() -> None:
    asked = {"bw": "1mbit", "delay": "40ms", "late": "none", "period": "today", "mine": "7"}
    told = ["".join(each) for each in setting_words(asked)]
    assert told == ["link rate 1mbit", "delay 40ms one way", "mine 7"]


def test_draws_of_several_flows_need_several_flows() -> None:
    drawn = {"streams": "1", "spread": "1s", "beside": "none"}
    assert setting_words(drawn) == []
    assert setting_words(drawn | {"beside": "reno"}) == [
        ("starts drawn within ", "1s", ""),
        ("another flow with ", "reno", ""),
    ]
