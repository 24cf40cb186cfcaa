"""Experiment 1, section 4.1: does an agent with episodic memory exploit a bandit it met before?"""

from dataclasses import replace

from reinstate.analysis.results import Scores
from reinstate.evaluation import Record
from reinstate.memory import DND
from reinstate.registry import later
from reinstate.runs.experiment import (
    LEARNER,
    STANDARD_CHARTS,
    Agents,
    Baselines,
    Check,
    ComposedFigure,
    Experiment,
    Values,
)
from reinstate.settings import Settings
from reinstate.tasks.bandits import Bandits, BarcodeBandits
from reinstate_paper import claims
from reinstate_paper.margins import WIDELY

QUICK: Settings[BarcodeBandits, DND] = Settings(
    task=BarcodeBandits(),
    seeds=8,
    learner=replace(LEARNER, lanes=16, epochs=60, discount=0.7),
)

PAPER = replace(
    QUICK,
    seeds=20,
    learner=replace(QUICK.learner, lanes=256, epochs=150, unroll=10),
)


def scores(world: Bandits, record: Record) -> Scores:
    """Score reward and regret by exposure, and first pulls in new contexts."""
    from reinstate.analysis.exposures import elimination, exposure_scores

    scores = exposure_scores(record)
    if found := elimination(record, world.num_arms):
        scores["elimination"] = found
    return scores


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Section 4.1's statements, for whichever of its agents were run."""
    if "with_memory" not in optimum:  # margins are shares of what a memory is worth
        return []
    said = "epL2RL widely outperforms L2RL and L2RL+Context (Fig. 3a)"
    found = claims.beats(agents, ("l2rl", "l2rl-context"), optimum, said, WIDELY)
    found += claims.memory_as_input(agents, optimum, claims.BY_SIZE)
    if {"l2rl", "l2rl-context"} <= agents.keys():
        found.append(claims.no_better(agents, "l2rl-context", "l2rl", optimum))
    if "epl2rl" in agents:
        found.append(claims.exceeds(agents, "epl2rl", optimum))
        text = "epl2rl exploits a context it has met once (fall in regret from exposure 1 to 2)"
        found += claims.falls(text, agents["epl2rl"]["by_exposure"]["regret"])
    found += claims.recognition(agents, optimum) + claims.rules_out(agents, optimum)
    return claims.of_section("4.1", found)


def baselines(settings: Settings[BarcodeBandits, DND]) -> dict[str, Record]:
    from reinstate.baselines.algorithms import play_all

    return play_all(settings.task, settings.evaluation, settings.seed_range)


BARCODE_BANDITS = Experiment(
    name="barcode-bandits",
    title="Experiment 1: barcode bandits",
    section="4.1, Fig. 3a",
    summary="10-armed bandits that recur, each identified by a barcode",
    world=BarcodeBandits,
    agents=("epl2rl", "l2rl", "l2rl-context", "epl2rl-input"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=later("reinstate.baselines.bandits:bandit_optimum"),
    lines={
        "best with memory (a bound)": "with_memory",
        "best without episodic memory": "without_memory",
        "chance": "chance",
    },
    baselines=baselines,
    checks=checks,
    scores=scores,
    charts={
        **STANDARD_CHARTS,
        "familiarity": later("reinstate.figures.learning:familiarity"),
        "elimination": later("reinstate.figures.learning:elimination"),
        "memory-as-input": later("reinstate_paper.figures:memory_as_input"),
    },
    figures={
        "3": ComposedFigure(
            ("barcode-bandits", "omniglot-bandits"), later("reinstate_paper.figures:figure_3")
        )
    },
)
