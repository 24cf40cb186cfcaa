"""Claims that several experiments make, as regions in which recorded numbers should lie.

Every claim is about one number per seed: a difference between agents (paired by seed, since agents
of one seed are evaluated on the same tasks), a relative fall, a ratio. Its region comes from
`margins`, its verdict from `analysis.verdicts`. Recorded seeds decide, so results can be tested
again.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from reinstate.analysis.results import OverSeeds
from reinstate.analysis.verdicts import Evidence, Region, judge_all, judge_mean, judge_rate
from reinstate.runs.experiment import Agents, Check, Values
from reinstate_paper.margins import (
    A_HUNDREDTH,
    A_TENTH,
    ADDS,
    CHANCE,
    FALL,
    HALF,
    MORE,
    MOST_SEEDS,
    ON_PAR,
    SIMILAR,
    TELLS,
    WIDELY,
    Margin,
)

SHARES = {A_HUNDREDTH: "a hundredth", A_TENTH: "a tenth", HALF: "half"}
NO_SEED = Evidence(math.nan, None, 1.0, 1.0, 0)  # of agents that share none
BY_SIZE = (  # where the presets have these lanes
    "this verdict depends on the size of training: with the quick preset's 16 lanes the agent is at"
    " chance, as the paper says; with the paper preset's 256 lanes it is not"
)
AS_INPUT = "fed to the LSTM as 50 inputs, what the memory returns brings reward down to chance"


def claim(text: str, per_seed: Any, region: Region, bound: str, **notes: Any) -> Check:
    """Claim that the mean of a number over seeds lies in a region."""
    evidence = judge_mean(per_seed, region) if len(per_seed) else NO_SEED
    return Check(text, evidence, region, bound, **notes)


def every(text: str, columns: Sequence[Any], region: Region, bound: str, **notes: Any) -> Check:
    """Claim that several numbers all lie in a region; the weakest one is shown."""
    evidence = judge_all([judge_mean(column, region) for column in columns])
    return Check(text, evidence, region, bound, **notes)


def words(margin: Margin, amount: float, sign: str = "at least", number: str = ".3f") -> str:
    """Say a bound with its reason: `at least 0.431: a tenth of the gap …`."""
    return f"{sign} {amount:{number}}: {SHARES.get(margin.size, margin.size)} of {margin.of}"


def gap(optimum: Values) -> float:
    """Return what a perfect memory is worth in reward per episode."""
    return float(optimum["with_memory"] - optimum["without_memory"])


def rewards(agents: Agents, name: str) -> Any:
    """Return the reward per episode of each seed."""
    return np.array(agents[name]["reward"]["per_seed"], float)


def lead(agents: Agents, name: str, other: str) -> Any:
    """Return by how much an agent earns more than another, for each seed that both have."""
    own, theirs = _by_seed(agents, name), _by_seed(agents, other)
    return np.array([reward - theirs[seed] for seed, reward in own.items() if seed in theirs])


def _by_seed(agents: Agents, name: str) -> dict[int, float]:
    """Return the reward of each seed; seeds that were not recorded are counted from 0."""
    found = rewards(agents, name)
    return dict(zip(agents[name].get("seeds", range(len(found))), found, strict=True))


def outperforms(
    agents: Agents, name: str, other: str, optimum: Values, margin: Margin = MORE, **notes: Any
) -> Check:
    """Claim that an agent earns more than another, by a share of what a memory is worth."""
    word = "widely outperforms" if margin is WIDELY else "outperforms"
    least = margin.size * gap(optimum)
    text = f"{name} {word} {other} (lead in reward per episode)"
    found = lead(agents, name, other)
    return claim(text, found, Region(low=least), words(margin, least), **notes)


def beats(
    agents: Agents, others: Sequence[str], optimum: Values, said: str, margin: Margin = MORE
) -> list[Check]:
    """The paper's claim that epL2RL earns more than other agents, as far as they were run."""
    both = [name for name in others if {"epl2rl", name} <= agents.keys()]
    return [outperforms(agents, "epl2rl", name, optimum, margin, paper=said) for name in both]


def no_better(agents: Agents, name: str, other: str, optimum: Values, **notes: Any) -> Check:
    """Claim that an agent's lead over another, if any, is too small to count."""
    most = MORE.size * gap(optimum)
    text = f"{name} earns no more than {other} (lead in reward per episode)"
    found = lead(agents, name, other)
    return claim(text, found, Region(high=most), words(MORE, most, "at most"), **notes)


def exceeds(agents: Agents, name: str, optimum: Values, **notes: Any) -> Check:
    """Claim that an agent earns more than is possible without episodic memory."""
    least = MORE.size * gap(optimum)
    above = rewards(agents, name) - optimum["without_memory"]
    text = f"{name} earns more than any agent without episodic memory can (lead)"
    return claim(text, above, Region(low=least), words(MORE, least), **notes)


def falls(
    text: str,
    by_exposure: OverSeeds,
    first: int = 1,
    later: int = 2,
    margin: Margin = FALL,
    **notes: Any,
) -> list[Check]:
    """Claim that a number falls from an exposure to a later one (−1: the last); none if absent."""
    columns = relative_falls(by_exposure, [(first, later)])
    bound = words(margin, margin.size)
    return [claim(text, each, Region(low=margin.size), bound, **notes) for each in columns]


def falls_throughout(text: str, by_exposure: OverSeeds, **notes: Any) -> list[Check]:
    """Claim that a number falls from each exposure to the next."""
    count = np.shape(by_exposure["per_seed"])[1]
    columns = relative_falls(by_exposure, [(e, e + 1) for e in range(1, count)])
    bound = words(FALL, FALL.size)
    return [every(text, columns, Region(low=FALL.size), bound, **notes)] if columns else []


def does_not_fall(text: str, by_exposure: OverSeeds, **notes: Any) -> list[Check]:
    """Claim that a number does not fall from the first exposure to the last."""
    columns = relative_falls(by_exposure, [(1, -1)])
    bound = words(FALL, FALL.size, "at most")
    return [claim(text, each, Region(high=FALL.size), bound, **notes) for each in columns]


def relative_falls(by_exposure: OverSeeds, pairs: Sequence[tuple[int, int]]) -> list[Any]:
    """Return 1 − later / earlier of each seed, for pairs of exposures that there are."""
    values = np.array(by_exposure["per_seed"], float)  # (seeds, exposures)
    count, found = values.shape[1], []
    for first, later in pairs:
        last = count if later == -1 else later
        if first < last <= count:
            before, after = values[:, first - 1], values[:, last - 1]
            found.append(1 - ratio(after, before, 1.0))
    return found


def ratio(part: Any, whole: Any, of_nothing: float) -> Any:
    """Divide seed by seed; where the whole is 0, return `of_nothing`."""
    return np.divide(part, whole, out=np.full_like(whole, of_nothing), where=whole != 0)


def plays_like(text: str, regret: Any, rival: Any, optimum: Values, **notes: Any) -> Check:
    """Claim that regret is an algorithm's, but for a margin to either side."""
    apart = SIMILAR.size * float(optimum["without_memory"] - optimum["chance"])
    bound = words(SIMILAR, apart, "within ±")
    return claim(text, np.subtract(regret, rival), Region(-apart, apart), bound, **notes)


def on_par(text: str, regret: Any, rival: Any, optimum: Values, **notes: Any) -> Check:
    """Claim that regret is no larger than an algorithm's, but for a margin."""
    most = ON_PAR.size * float(optimum["without_memory"] - optimum["chance"])
    bound = words(ON_PAR, most, "at most")
    return claim(text, np.subtract(regret, rival), Region(high=most), bound, **notes)


def memory_as_input(agents: Agents, optimum: Values, note: str = "") -> list[Check]:
    """The variants without an r-gate, where they were run: at chance, or as good as the gate?"""
    found = []
    if "epl2rl-input" in agents:
        chance, best = optimum["chance"], optimum["without_memory"]
        limit = chance + CHANCE.size * (best - chance)
        evidence = judge_rate(rewards(agents, "epl2rl-input") <= limit, Region(low=MOST_SEEDS))
        text = "epl2rl-input is at chance (share of seeds)"
        bound = f"at least half, with reward {limit:.3f} or less: a tenth of {CHANCE.of}"
        notes = {"paper": AS_INPUT, "note": note}
        found.append(Check(text, evidence, Region(low=MOST_SEEDS), bound, **notes))
    compressed = (name for name in agents if name.startswith("epl2rl-input-"))
    return found + [check for name in compressed for check in does_as_well(agents, name)]


def does_as_well(agents: Agents, name: str) -> list[Check]:
    """Ours, after a footnote of section 4.1: fewer than five numbers do as well as the r-gate.

    The mean of epL2RL's seeds is taken as known: it varies far less than what it is compared with.
    """
    plain = [agents[each]["reward"]["mean"] for each in ("l2rl", "l2rl-context") if each in agents]
    if "epl2rl" not in agents or not plain:
        return []
    best = agents["epl2rl"]["reward"]["mean"]
    if best <= max(plain):
        return []
    lacks = (best - rewards(agents, name)) / (best - max(plain))
    bound = f"at most {MORE.size}: a tenth of what epL2RL gains over no memory"
    text = f"{name} does as well as the r-gate (lacks)"
    return [claim(text, lacks, Region(high=MORE.size), bound, section="4.1")]


RECOGNISING = "epl2rl-recognition"


def recognition(agents: Agents, optimum: Values) -> list[Check]:
    """Ours: is it worth something to know what one remembers, and does the agent know it?"""
    found: list[Check] = []
    if {RECOGNISING, "epl2rl"} <= agents.keys():
        text = f"{RECOGNISING} earns more than epl2rl (lead in reward per episode)"
        least = ADDS.size * gap(optimum)
        ahead = lead(agents, RECOGNISING, "epl2rl")
        found.append(claim(text, ahead, Region(low=least), words(ADDS, least)))
    # The paper's gate cannot tell on a first step: all that it has seen by then is the same.
    told = agents[RECOGNISING].get("familiarity") if RECOGNISING in agents else None
    if told and "r_gate" in told:
        limit = 0.5 + TELLS.size * 0.5
        text = f"{RECOGNISING}'s r-gate tells known contexts from new ones (area under the ROC)"
        areas, bound = told["r_gate"]["auc"]["per_seed"], words(TELLS, limit, number=".2f")
        found.append(claim(text, areas, Region(low=limit), bound))
    return found


def no_worse(agents: Agents, optimum: Values) -> list[Check]:
    """Ours, where recognition has nothing to add: every cue is of an episode that was met."""
    if not {RECOGNISING, "epl2rl"} <= agents.keys():
        return []
    text = f"{RECOGNISING} earns no less than epl2rl (lead in reward per episode)"
    least = -ADDS.size * gap(optimum)
    bound = words(ADDS, least, number=".4f")
    return [claim(text, lead(agents, RECOGNISING, "epl2rl"), Region(low=least), bound)]


def rules_out(agents: Agents, optimum: Values) -> list[Check]:
    """Ours, of bandits each arm of which is some context's: what belongs to another is ruled out.

    Without a memory nobody can do better on a first exposure than on any other.
    """
    if RECOGNISING not in agents:
        return []
    firsts = at(agents[RECOGNISING]["by_exposure"]["reward"], 1) - optimum["without_memory"]
    least = ADDS.size * gap(optimum)
    text = f"{RECOGNISING} earns more on first exposures than any agent without a memory can (lead)"
    return [claim(text, firsts, Region(low=least), words(ADDS, least))]


def of_section(section: str, found: list[Check]) -> list[Check]:
    """Say of checks which section of the paper they are about; leave out those without a seed."""
    return [check._replace(section=section) for check in found if check.evidence.seeds]


def at(by_exposure: OverSeeds, exposure: int) -> Any:
    """Return the numbers of all seeds at an exposure, counted from 1."""
    return np.array(by_exposure["per_seed"], float)[:, exposure - 1]
