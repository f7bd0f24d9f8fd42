"""What limited a sender, as its capture shows it, is what its kernel counted."""

import pytest

from testbed.lab.ready import Lab
from tests.tools.held_back_senders import TOLERANCE, compared, line

pytestmark = pytest.mark.virtual
NUMBERS = (17, 43, 58)


def test_the_analyser_and_tcp_info_agree_on_what_held_a_sender_back(ready_lab: Lab) -> None:
    """Three of random networks; `python -m tests.tools.held_back_senders` looks at a hundred."""
    senders = list(compared(NUMBERS, ready_lab))
    assert [line(sender) for sender in senders if sender.error > TOLERANCE] == []
