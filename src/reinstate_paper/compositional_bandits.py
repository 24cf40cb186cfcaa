"""Experiment 3, section 4.3: does memory of one stimulus help when it comes back with another?"""

from dataclasses import replace
from typing import Any

import numpy as np

from reinstate.agent import Network
from reinstate.analysis.results import AgentResults, Scores
from reinstate.analysis.verdicts import Region
from reinstate.evaluation import Condition, Evaluation, Record
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
from reinstate.tasks.compositional import CompositionalBandits
from reinstate_paper import claims
from reinstate_paper.barcode_bandits import BARCODE_BANDITS
from reinstate_paper.margins import FALL, HALF, MORE

# A memory pays only once what is stored of a stimulus is of use with any other. Trained on the
# task alone, agents earn no more than they can without one. So they first learn, without recall,
# in episodes whose stimuli give way to others, the better one most often: then what was chosen, and
# what was left, both have to be coded. results/compositional-bandits/tried.json has
# what each part is worth.
QUICK: Settings[CompositionalBandits, DND] = Settings(
    task=CompositionalBandits(
        num_classes=20, judged_classes=40, stored="both", scale=3.0, exchange=0.4, trained_on=3
    ),
    seeds=2,  # fewer lanes or epochs would pay for more, and do not learn to recall
    network=Network(feedback="joint"),
    memory=DND(capacity=2000),
    learner=replace(
        LEARNER,
        lanes=64,
        epochs=300,
        learning_rate=0.005,
        discount=0.7,
        entropy_cost=0.01,
        recall_from=0.5,
    ),
    evaluation=Evaluation(epochs=40),
)

PAPER = replace(
    QUICK,
    task=replace(QUICK.task, judged_classes=400),
    seeds=10,
    learner=replace(QUICK.learner, lanes=512, epochs=900, unroll=10),
    evaluation=Evaluation(epochs=10),
)

HALVED = FALL._replace(size=HALF)  # ours


def scores(world: CompositionalBandits, record: Record) -> Scores:
    """Score reward and regret, and what an old stimulus is worth with a new one."""
    from reinstate.analysis.compositional import compositional_scores

    return compositional_scores(record)


def probes(settings: Settings[CompositionalBandits, DND]) -> dict[str, Condition]:
    """What becomes of reward when the memory, or the query, is not as it was."""
    from reinstate.analysis.compositional import Misfiled

    world, memory = settings.task.for_evaluation(), settings.memory
    return {
        "memory cleared": Condition(world, memory, recall=0.0),
        "memory misfiled": Condition(world, Misfiled(memory)),
        "asked for the better stimulus": Condition(replace(world, query="high"), memory),
        "asked for the worse stimulus": Condition(replace(world, query="low"), memory),
    }


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Section 4.3's statements, for whichever of its agents were run."""
    if "with_memory" not in optimum:  # margins are shares of what a memory is worth
        return []
    said = "epL2RL earns more reward than L2RL+Context (Fig. 4a)"
    found = claims.beats(agents, ("l2rl-context",), optimum, said)
    if "epl2rl" in agents:
        regret = agents["epl2rl"]["by_exposure"]["regret"]
        text = "epl2rl's regret falls at every exposure (smallest relative fall)"
        said = "epL2RL consistently reduces its regret after successive exposures (Fig. 4b)"
        found += claims.falls_throughout(text, regret, paper=said)
    found += claims.memory_as_input(agents, optimum)
    if "epl2rl" in agents:
        found.append(claims.exceeds(agents, "epl2rl", optimum))
        text = "epl2rl's regret at the last exposure is at most half of that at the first (fall)"
        found += claims.falls(text, regret, 1, -1, HALVED)
        found += _probes(agents["epl2rl"], optimum)
    found += claims.recognition(agents, optimum)
    return claims.of_section("4.3", found)


def _probes(agent: AgentResults, optimum: Values) -> list[Check]:
    """Ours: that what is filed in the memory pays, whichever stimulus it is queried for."""
    if not (rewards := agent.get("probes")):
        return []
    margin = MORE.size * claims.gap(optimum)

    def lead(name: str) -> Any:
        return np.array(rewards[name]["per_seed"], float) - optimum["without_memory"]

    text = "with its memory misfiled, epl2rl earns no more than an agent without one can (lead)"
    bound = claims.words(MORE, margin, "at most")
    found = [claims.claim(text, lead("memory misfiled"), Region(high=margin), bound)]
    for name in ("asked for the better stimulus", "asked for the worse stimulus"):
        text = f"epl2rl earns more than without memory when {name} only (lead)"
        found.append(claims.claim(text, lead(name), Region(low=margin), claims.words(MORE, margin)))
    return found


COMPOSITIONAL_BANDITS = Experiment(
    name="compositional-bandits",
    title="Experiment 3: compositional bandits",
    section="4.3, Fig. 4",
    summary="two-armed bandits whose arms, each with a drawing of its own, recur in new pairs",
    world=CompositionalBandits,
    agents=("epl2rl", "l2rl-context", "epl2rl-input"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=later("reinstate.baselines.epoch_memory:compositional_optimum"),
    lines=BARCODE_BANDITS.lines,
    checks=checks,
    scores=scores,
    probes=probes,
    charts={
        **STANDARD_CHARTS,
        "probes": later("reinstate.figures.exposures:probes"),
        "gates": later("reinstate.figures.exposures:gates"),
        "familiarity": later("reinstate.figures.learning:familiarity"),
        "memory-as-input": later("reinstate_paper.figures:memory_as_input"),
    },
    figures={
        "4": ComposedFigure(("compositional-bandits",), later("reinstate_paper.figures:figure_4"))
    },
)
