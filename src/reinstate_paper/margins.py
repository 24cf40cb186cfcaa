"""The smallest effects of interest: what the paper's words are taken to mean, in one table.

The paper gives few numbers, so its words had to be given some before any of the recorded runs was
made. One rule serves throughout: a tenth of the relevant range is the least that counts as a
difference, and a stronger word ("widely", "much") asks for half of it.
"""

from typing import NamedTuple

A_HUNDREDTH, A_TENTH, HALF = 0.01, 0.1, 0.5


class Margin(NamedTuple):
    """A word of the paper, as a number."""

    size: float
    of: str  # what it is a share of
    says: str  # the paper's words
    why: str


GAP = "the gap between the best possible with and without episodic memory"

MORE = Margin(
    A_TENTH,
    GAP,
    "more, outperforms (reward); ours: earns no more, if less than that",
    "an agent that wins less than a tenth of what a memory can win does not use it to speak of",
)
WIDELY = Margin(HALF, GAP, "widely outperforms", "half-way from no memory to a perfect one")
FALL = Margin(
    A_TENTH,
    "the earlier exposure's regret (or steps)",
    "less, the trend continues, reduces; no decrease, if less than that",
    "regret at each exposure is known to about one hundredth, so a tenth is no noise",
)
MUCH = Margin(HALF, "the first exposure's steps", "much smaller", "half as many, or fewer")
SIMILAR = Margin(
    A_TENTH,
    "the gap between random play and the best possible without memory",
    "similarly to (regret no more than that above or below)",
    "much better play is not similar play either; up to version 0.9.0 it counted as such",
)
ON_PAR = Margin(
    A_TENTH,
    SIMILAR.of,
    "compares favourably with, on par (regret no more than that above)",
    "better play may not fail these claims, so they are bounded on one side",
)
CHANCE = Margin(
    A_TENTH,
    "the way from chance to the best possible without memory",
    "reduced to random chance: most seeds earn no more than that",
    "some seeds learn and others do not, so seeds are counted and not averaged",
)
FAILS = Margin(
    HALF,
    "what L2RL earns above chance",
    "fails",
    "an agent that keeps most of another's skill has not failed",
)
EXPLORES = Margin(
    HALF,
    "the way from a random walk to the best search",
    "a clear exploration policy",
    "half-way is beyond what drifting in one direction achieves",
)
CLOSE = Margin(
    A_TENTH, "the least number of steps", "close to optimally", "at most a tenth more steps"
)
IN_ALL = Margin(
    A_TENTH,
    "episodes",
    "in all cases, one of the shortest paths (of the trajectories shown)",
    "the paper shows few; actions are sampled, so a stray step now and then is no other policy",
)
USES = Margin(
    A_TENTH,
    "the largest weight of the same episodes",
    "uses a strategy; does not use it, if nearer to 0 on either side",
    "a weight a tenth of the largest decides a choice only where the others cancel",
)
GATE = Margin(
    0.001,
    "the r-gate, which lies between 0 and 1",
    "more open, most open",
    "the paper reports a difference of 0.007, and calls it very small",
)
ADDS = Margin(
    A_HUNDREDTH,
    GAP,
    "ours: earns more than another agent that remembers; no worse, if not that much less",
    "what is left between the paper's agent and the optimum is about a tenth of the gap",
)
TELLS = Margin(
    HALF,
    "the way from chance (.5) to certainty (1)",
    "ours: tells known contexts from new ones (area under the ROC)",
    "half-way: in three of four pairs the known context has the larger value",
)
MOST_SEEDS = 0.5  # "reduced to chance" is said of the typical run

MARGINS = (
    WIDELY, MORE, FALL, MUCH, SIMILAR, ON_PAR, CHANCE, FAILS, EXPLORES, CLOSE, IN_ALL, USES, GATE,
    ADDS, TELLS,
)  # fmt: skip
