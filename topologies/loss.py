"""Losses in bursts: the Gilbert-Elliott model of netem (gemodel of tc-netem(8))."""

from dataclasses import dataclass
from functools import cache

from topologies.errors import UsageError, named
from topologies.units import WHOLE, Share

_DEFAULTS = {"p": "", "r": "", "1-h": "100%", "1-k": "0%"}


@dataclass(frozen=True)
class GilbertElliott:
    """Shares by the names of tc-netem(8).

    `p` is the chance to go to the bad state with a packet, `r` to go back; `bad` (1-h) and `good`
    (1-k) are the chances of a loss in each.
    """

    p: Share
    r: Share
    bad: Share
    good: Share

    @property
    def mean(self) -> Share:
        """The share of packets that are lost in the long run."""
        of_bad = self.p.fraction / (self.p.fraction + self.r.fraction)
        fraction = of_bad * self.bad.fraction + (1 - of_bad) * self.good.fraction
        return Share(round(fraction * WHOLE.base))

    @property
    def clustering(self) -> float:
        """Most times by which the variance of the losses exceeds that of independent ones."""
        change = self.p.fraction + self.r.fraction
        return max(1.0, (2 - change) / change)

    @property
    def words(self) -> str:
        """tc's words."""
        return f"gemodel {self.p} {self.r} {self.bad} {self.good}"

    @property
    def text(self) -> str:
        """The text of a spec."""
        return f"p={self.p} r={self.r} 1-h={self.bad} 1-k={self.good}"


@cache
def gemodel(text: str) -> GilbertElliott:
    """Return the model of a text such as "p=1% r=25%". Raises UsageError.

    >>> str(gemodel("p=1% r=24%").mean)
    '4%'
    """
    words = text.split()
    given = dict(word.partition("=")[::2] for word in words)
    if len(given) < len(words):
        raise UsageError(f"gemodel '{text[:40]}' has a parameter twice.", "Write each once.")
    for name in given:
        named("gemodel has no parameter", name, _DEFAULTS)
    values = _DEFAULTS | given
    if not (values["p"] and values["r"]):
        raise UsageError(f"gemodel '{text[:40]}' lacks p or r.", "Write 'p=1% r=25%'.")
    shares = {name: Share.parse(value) for name, value in values.items()}
    for name, share in shares.items():
        least = Share(1) if name in "pr" else Share(0)
        if not least <= share <= WHOLE:
            problem = f"gemodel has no {name} of {share}."
            raise UsageError(problem, f"Choose one from {least} to {WHOLE}.")
    return GilbertElliott(*shares.values())
