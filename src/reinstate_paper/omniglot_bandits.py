"""Experiment 2, section 4.2: is a bandit recognised when its context looks different each time?"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from reinstate.analysis.results import AgentResults, OverSeeds, Scores
from reinstate.analysis.verdicts import Region
from reinstate.evaluation import Record
from reinstate.memory import DND
from reinstate.registry import later
from reinstate.runs.experiment import Agents, Baselines, Check, Experiment, Values
from reinstate.settings import Settings
from reinstate.tasks.bandits import OmniglotBandits
from reinstate_paper import barcode_bandits, claims
from reinstate_paper.margins import FAILS, IN_ALL, MORE

RIVALS = ("gittins", "ucb1", "thompson")  # the paper's
RANDOM_PLAY = "UCB1 tries each arm once first, which with no more pulls than arms is random play"

QUICK: Settings[OmniglotBandits, DND] = Settings(
    task=OmniglotBandits(),
    seeds=8,
    learner=replace(barcode_bandits.QUICK.learner, epochs=100),
)

PAPER = replace(
    QUICK,
    seeds=20,
    learner=replace(QUICK.learner, lanes=256, epochs=150, unroll=10),
)


def scores(world: OmniglotBandits, record: Record) -> Scores:
    from reinstate.analysis.exposures import retrieval_accuracy

    return {**barcode_bandits.scores(world, record), "retrieval": retrieval_accuracy(record)}


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Section 4.2's statements, for whichever of its agents were run."""
    if "with_memory" not in optimum:  # margins are shares of what a memory is worth
        return []
    said = "epL2RL obtains more reward than its L2RL counterparts (Fig. 3b)"
    found = claims.beats(agents, ("l2rl", "l2rl-context"), optimum, said)
    if {"l2rl", "l2rl-context"} <= agents.keys():
        found.append(_context_drowns(agents, optimum))
    rivals = {n: baselines[n]["by_exposure"]["regret"] for n in RIVALS if n in baselines}
    if "epl2rl" in agents:
        found += _recall(agents["epl2rl"]["by_exposure"]["regret"], rivals, optimum)
    if "l2rl" in agents:
        found += _without_recall(agents["l2rl"]["by_exposure"]["regret"], rivals, optimum)
    found += claims.memory_as_input(agents, optimum, claims.BY_SIZE)
    if "epl2rl" in agents:
        found.append(claims.exceeds(agents, "epl2rl", optimum))
        found += _finds_the_class(agents["epl2rl"])
    found += claims.recognition(agents, optimum) + claims.rules_out(agents, optimum)
    return claims.of_section("4.2", found)


def _context_drowns(agents: Agents, optimum: Values) -> Check:
    """Without reward and action there is no learning within an episode: reward is at chance."""
    text = "l2rl-context fails where l2rl does not (its gain over chance, as a share of l2rl's)"
    said = "L2RL+Context fails: embeddings of 128 numbers drown reward and action (Fig. 3b)"
    context, plain = (
        claims.rewards(agents, name) - optimum["chance"] for name in ("l2rl-context", "l2rl")
    )
    bound = claims.words(FAILS, FAILS.size, "at most")
    tried = "embeddings of length 11.3 (--task.scale): it fails with 32 lanes, learns with 2048"
    share, region = claims.ratio(context, plain, 1.0), Region(high=FAILS.size)
    return claims.claim(text, share, region, bound, paper=said, tried=tried)


def _recall(regret: OverSeeds, rivals: Mapping[str, OverSeeds], optimum: Values) -> list[Check]:
    """Fig. 3c: epL2RL's regret by exposure, compared with the algorithms'."""
    text = "epl2rl's regret falls from exposure 1 to 2 (relative fall)"
    said = "regret is large on the first exposure and significantly less on the second (Fig. 3c)"
    found = claims.falls(text, regret, paper=said)
    text = "epl2rl's regret falls further from exposure 2 to the last (relative fall)"
    said = "the trend continues as exposures increase: solutions are honed further (Fig. 3c)"
    found += claims.falls(text, regret, 2, -1, paper=said)
    for name, rival in rivals.items():
        found += _beside(name, regret, rival, optimum)
    return found


def _beside(name: str, regret: OverSeeds, rival: OverSeeds, optimum: Values) -> list[Check]:
    """On the first exposure like the algorithm, better than it afterwards."""
    text = f"epl2rl's regret at exposure 1 is like {name}'s (excess)"
    said = "on the first exposure it performs similarly to Gittins, UCB and Thompson (Fig. 3c)"
    firsts = claims.at(regret, 1), claims.at(rival, 1)
    note = RANDOM_PLAY if name == "ucb1" else ""
    found = [claims.plays_like(text, *firsts, optimum, paper=said, note=note)]
    count = min(np.shape(each["per_seed"])[1] for each in (regret, rival))
    if count > 1:  # of an urn, some meet more exposures
        own, theirs = (
            np.mean([claims.at(each, e) for e in range(2, count + 1)], axis=0)
            for each in (regret, rival)
        )
        text = f"epl2rl's regret is below {name}'s from exposure 2 on (lead of the mean)"
        said = "epL2RL outperforms the algorithms on later exposures (Fig. 3c)"
        least = MORE.size * claims.gap(optimum)
        bound = claims.words(MORE, least)
        found.append(claims.claim(text, theirs - own, Region(low=least), bound, paper=said))
    return found


def _without_recall(
    regret: OverSeeds, rivals: Mapping[str, OverSeeds], optimum: Values
) -> list[Check]:
    """Fig. 3d: L2RL's regret by exposure, compared with the algorithms'."""
    said = "without episodic memory, regret does not fall with more exposures (Fig. 3d)"
    text = "l2rl's regret does not fall from exposure 1 to the last (relative fall)"
    found = claims.does_not_fall(text, regret, paper=said)
    for name, rival in rivals.items():
        own, theirs = (np.mean(each["per_seed"], axis=1) for each in (regret, rival))
        text = f"l2rl's regret is no more than {name}'s (excess, all exposures)"
        said = "L2RL compares favourably with Gittins, UCB and Thompson (Fig. 3d)"
        found.append(claims.on_par(text, own, theirs, optimum, paper=said))
    return found


def _finds_the_class(agent: AgentResults) -> list[Check]:
    """Ours: the paper requires it, and does not say how often it succeeds."""
    if not (retrieval := agent.get("retrieval")):
        return []
    text = "the memory finds another drawing of the same class (share of known classes)"
    least = 1 - IN_ALL.size
    bound = f"at least {least}"
    return [claims.claim(text, retrieval["per_seed"], Region(low=least), bound)]


def baselines(settings: Settings[OmniglotBandits, DND]) -> dict[str, Record]:
    from reinstate.baselines.algorithms import play_all

    # Algorithms do not see: those with memory are told the class, as a barcode would tell it.
    return play_all(settings.task.with_barcodes(), settings.evaluation, settings.seed_range)


OMNIGLOT_BANDITS = Experiment(
    name="omniglot-bandits",
    title="Experiment 2: Omniglot bandits",
    section="4.2, Fig. 3b-d",
    summary="10-armed bandits that recur, each identified by drawings of a character",
    world=OmniglotBandits,
    agents=("epl2rl", "l2rl", "l2rl-context", "epl2rl-input"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=later("reinstate.baselines.bandits:omniglot_optimum"),
    lines=barcode_bandits.BARCODE_BANDITS.lines,
    baselines=baselines,
    checks=checks,
    scores=scores,
    charts=barcode_bandits.BARCODE_BANDITS.charts,
)
