"""Experiment 3, section 4.3: does memory of one stimulus help when it comes back beside another?"""

from dataclasses import replace

import numpy as np

from reinstate.agent import Network
from reinstate.analysis.compositional import compositional_scores
from reinstate.analysis.intervals import over_seeds
from reinstate.analysis.lesions import Misfiled
from reinstate.analysis.results import AgentResults, OverSeeds
from reinstate.baselines.optimum import compositional_optimum
from reinstate.evaluation import Condition, Evaluation
from reinstate.experiments import claims
from reinstate.experiments.base import (
    LEARNER,
    STANDARD_CHARTS,
    Agents,
    Baselines,
    Check,
    Experiment,
    Values,
)
from reinstate.figures import exposures as charts
from reinstate.memory import DND
from reinstate.settings import Settings
from reinstate.tasks.compositional import CompositionalBandits

# A memory pays only once what is stored of a stimulus is of use beside any other. Trained on the
# task alone, agents earn no more than they can without one. So they first learn, without recall,
# in episodes whose stimuli give way to others, the better one most often: then what was chosen, and
# what was left, both have to be coded. results/compositional-bandits/tried.json has
# what each part is worth.
QUICK: Settings[CompositionalBandits, DND] = Settings(
    task=CompositionalBandits(
        num_classes=20, judged_classes=40, stored="both", scale=3.0, exchange=0.4
    ),
    seeds=2,
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
    evaluation=Evaluation(epochs=60),
)

PAPER = replace(
    QUICK,
    task=replace(QUICK.task, judged_classes=400),
    seeds=3,
    learner=replace(QUICK.learner, lanes=2048, epochs=900, unroll=10),
    evaluation=Evaluation(epochs=50),
)


def probes(settings: Settings[CompositionalBandits, DND]) -> dict[str, Condition]:
    """What becomes of reward when the memory, or what it is asked for, is not as it was."""
    world, memory = settings.task.for_evaluation(), settings.memory
    return {
        "memory cleared": Condition(world, memory, recall=0.0),
        "memory misfiled": Condition(world, Misfiled.like(memory)),
        "asked for the better stimulus": Condition(replace(world, query="high"), memory),
        "asked for the worse stimulus": Condition(replace(world, query="low"), memory),
    }


def checks(agents: Agents, optimum: Values, baselines: Baselines) -> list[Check]:
    """Section 4.3's statements, for whichever of its agents were run."""
    ceiling, found = optimum["both_novel"], []
    if "l2rl-context" in agents:
        found.append(claims.stays_within(agents, "l2rl-context", ceiling))
        if "epl2rl" in agents:
            said = "epL2RL earns more reward than L2RL+Context (Fig. 4a)"
            found.append(claims.outperforms(agents, "epl2rl", "l2rl-context", paper=said))
    if "epl2rl" in agents:
        found.append(claims.exceeds(agents, "epl2rl", ceiling))
        found += _exposures(agents["epl2rl"]["by_exposure"]["regret"])
        found += _probes(agents["epl2rl"], ceiling)
    found += claims.input_at_chance(agents, optimum)
    return claims.of_section("4.3", found)


def _exposures(regret: OverSeeds) -> list[Check]:
    said = "epL2RL consistently reduces its regret after successive exposures (Fig. 4b)"
    last = len(regret["mean"])
    found: list[Check] = []
    for exposure in range(1, last):
        claim = f"epl2rl's regret falls from exposure {exposure} to {exposure + 1}"
        found += claims.falls(claim, regret, exposure, exposure + 1, paper=said)
    if last > 1:
        seeds = np.array(regret["per_seed"])
        claim = f"epl2rl's regret at exposure {last}, as a share of exposure 1's"
        share = over_seeds(seeds[:, -1] / seeds[:, 0])
        found.append(claims.at_most(claim, share, 0.5))
    return found


def _probes(agent: AgentResults, ceiling: float) -> list[Check]:
    """Ours: that it is the memory, and what is filed in it, that pays."""
    if not (rewards := agent.get("probes")):
        return []
    found = []
    for name in ("memory cleared", "memory misfiled"):
        claim = f"with its {name}, epl2rl earns no more than an agent without one can"
        found.append(claims.within(claim, rewards[name], ceiling))
    for name in ("asked for the better stimulus", "asked for the worse stimulus"):
        claim = f"epl2rl puts either stimulus to use: when {name} only, it earns more than that"
        found.append(claims.above(claim, rewards[name], ceiling))
    return found


COMPOSITIONAL_BANDITS = Experiment(
    name="compositional-bandits",
    title="Experiment 3: compositional bandits",
    section="4.3, Fig. 4",
    summary="two-armed bandits whose arms, each with a drawing of its own, recur in new pairs",
    world=CompositionalBandits,
    agents=("epl2rl", "l2rl-context"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=compositional_optimum,
    ceiling="mean_over_epoch",
    ceiling_without_memory="both_novel",
    lines={
        "best with memory": "mean_over_epoch",
        "best without episodic memory": "both_novel",
        "chance": "chance",
    },
    checks=checks,
    judge=lambda _, record: compositional_scores(record),
    probes=probes,
    charts={**STANDARD_CHARTS, "probes": charts.probes, "gates": charts.gates},
)
