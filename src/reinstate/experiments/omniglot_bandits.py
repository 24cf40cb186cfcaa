"""Experiment 2, section 4.2: is a bandit recognised when its context looks different each time?"""

from dataclasses import replace
from typing import Any

import numpy as np

from reinstate import figures
from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.retrieval import retrieval_accuracy
from reinstate.baselines.algorithms import play_all
from reinstate.baselines.optimum import Values, omniglot_optimum
from reinstate.evaluation import Evaluation, Record
from reinstate.experiments import barcode_bandits
from reinstate.experiments.base import Check, Experiment, Results
from reinstate.experiments.claims import against_memoryless, falls
from reinstate.settings import Settings
from reinstate.tasks.bandits import OmniglotBandits

RIVALS = ("gittins", "ucb1", "thompson")  # the paper's

QUICK = Settings(
    task=OmniglotBandits(),
    seeds=4,
    learner=replace(barcode_bandits.QUICK.learner, epochs=130),
)

PAPER = replace(
    QUICK,
    seeds=3,
    learner=replace(QUICK.learner, lanes=2048, epochs=150, unroll=10),
    evaluation=Evaluation(epochs=500),
)


def judge(world: OmniglotBandits, record: Record) -> Results:
    return {**exposure_scores(record), "retrieval": retrieval_accuracy(record)}


def checks(agents: Results, optimum: Values, baselines: Results) -> list[Check]:
    """Section 4.2's statements, for whichever of its agents were run."""
    found = against_memoryless(agents, optimum["without_memory"])
    if "epl2rl" not in agents:
        return found
    regret = agents["epl2rl"]["by_exposure"]["regret"]
    claim = "epl2rl exploits a class it has met once (fall in regret from exposure 1 to 2)"
    found += falls(claim, regret)
    if len(regret["mean"]) > 1:
        found.append(_to_a_third(regret["mean"]))
        found += [_beats(regret, name, baselines[name]) for name in RIVALS if name in baselines]
    if retrieval := agents["epl2rl"]["retrieval"]:
        accuracy = retrieval["mean"]
        claim = "the memory finds another drawing of the same class (share of known classes)"
        found.append(Check(claim, accuracy, ">= 0.95", accuracy >= 0.95))
    return found


def _to_a_third(regret: list[float]) -> Check:
    share = regret[1] / regret[0]
    claim = "epl2rl's regret at exposure 2, as a share of exposure 1's"
    return Check(claim, share, "< 1/3", share < 1 / 3)


def _beats(regret: dict[str, Any], name: str, rival: Results) -> Check:
    """Below the algorithm from the second exposure on: the smallest lead counts."""
    own = np.array(regret["mean"])[1:]
    lead = float((np.array(rival["by_exposure"]["regret"]["mean"])[1:] - own).min())
    claim = f"epl2rl's regret stays below {name}'s from exposure 2 on (smallest difference)"
    return Check(claim, lead, "> 0", lead > 0)


def baselines(settings: Settings[OmniglotBandits]) -> dict[str, Record]:
    # Algorithms do not see: those with memory are told the class, as a barcode would tell it.
    return play_all(settings.task.with_barcodes(), settings.evaluation, settings.seed_range)


OMNIGLOT_BANDITS = Experiment(
    name="omniglot-bandits",
    title="Experiment 2: Omniglot bandits",
    section="4.2, Fig. 3b-d",
    summary="10-armed bandits that recur, each identified by drawings of a character",
    world=OmniglotBandits,
    agents=("epl2rl", "l2rl", "l2rl-context"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=omniglot_optimum,
    ceilings=barcode_bandits.BARCODE_BANDITS.ceilings,
    lines=barcode_bandits.BARCODE_BANDITS.lines,
    baselines=baselines,
    checks=checks,
    judge=judge,
    figures={"regret": figures.regret_curves},
)
