"""Experiment 1, section 4.1: does an agent with episodic memory exploit a bandit it met before?"""

from dataclasses import replace

import numpy as np

from reinstate.agent import Network
from reinstate.analysis.intervals import difference, mean_and_noise
from reinstate.baselines.algorithms import play_all
from reinstate.baselines.optimum import Values, bandit_optimum
from reinstate.evaluation import Evaluation, Record
from reinstate.experiments.base import Check, Experiment, Results
from reinstate.learner import A2C
from reinstate.memory import DND
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits

# Tuned for plain L2RL, as the paper did, by a random search over 192 settings of learning rate, its
# end, discount, both costs and the clipping norm; then the same for every agent.
LEARNER = A2C(
    lanes=32,
    epochs=60,
    learning_rate=0.01,
    learning_rate_end=0.0,
    discount=0.7,
    value_cost=0.5,
    entropy_cost=0.05,
    entropy_cost_end=0.0,
    max_grad_norm=0.3,
)

QUICK = Settings(
    task=BarcodeBandits(),
    seeds=4,
    network=Network(hidden_size=50),
    memory=DND(capacity=100, k=1, distance="cosine"),
    learner=LEARNER,
    evaluation=Evaluation(epochs=100),
)

PAPER = replace(
    QUICK,
    seeds=3,
    learner=replace(LEARNER, lanes=2048, epochs=150, unroll=10),
    evaluation=Evaluation(epochs=500),
)


def checks(agents: Results, optimum: Values) -> list[Check]:
    """Section 4.1's statements, for whichever of its agents were run."""
    memoryless = optimum["without_memory"]
    found: list[Check] = []
    for name in ("l2rl", "l2rl-context"):
        if name in agents:
            found.append(_within(agents, name, memoryless))
        if name in agents and "epl2rl" in agents:
            found.append(_outperforms(agents, "epl2rl", name))
    if "epl2rl" in agents:
        found += [_exceeds(agents, "epl2rl", memoryless), *_exploits(agents, "epl2rl")]
    return found


def baselines(settings: Settings[BarcodeBandits]) -> dict[str, Record]:
    return play_all(settings.task, settings.evaluation, settings.seed_range)


def _outperforms(agents: Results, name: str, other: str) -> Check:
    gap, noise = difference(*(agents[n]["reward"]["per_seed"] for n in (name, other)))
    claim = f"{name} outperforms {other} (difference in reward an episode)"
    return Check(claim, gap, f"> {noise:.3f}, its 95% half width", gap > noise)


def _within(agents: Results, name: str, ceiling: float) -> Check:
    mean, noise = mean_and_noise(agents[name]["reward"])
    claim = f"{name} stays within the best that is possible without episodic memory"
    bound = f"<= {ceiling:.3f} + {noise:.3f} for noise"
    return Check(claim, mean, bound, mean <= ceiling + noise)


def _exceeds(agents: Results, name: str, ceiling: float) -> Check:
    mean, noise = mean_and_noise(agents[name]["reward"])
    claim = f"{name} earns more than any agent without episodic memory can"
    bound = f"> {ceiling:.3f} + {noise:.3f} for noise"
    return Check(claim, mean, bound, mean > ceiling + noise)


def _exploits(agents: Results, name: str) -> list[Check]:
    regret = np.array(agents[name]["by_exposure"]["regret"]["per_seed"])  # (seeds, exposures)
    if regret.shape[1] < 2:  # no context comes back
        return []
    gap, noise = difference(regret[:, 0], regret[:, 1])
    claim = f"{name} exploits a context it has met once (fall in regret from exposure 1 to 2)"
    return [Check(claim, gap, f"> {noise:.3f}, its 95% half width", gap > noise)]


BARCODE_BANDITS = Experiment(
    name="barcode-bandits",
    title="Experiment 1: barcode bandits",
    section="4.1, Fig. 3a",
    summary="10-armed bandits that recur, each identified by a barcode",
    world=BarcodeBandits,
    agents=("epl2rl", "l2rl", "l2rl-context"),
    presets={"quick": QUICK, "paper": PAPER},
    optimum=bandit_optimum,
    ceilings={
        "epl2rl": "own_memory",
        "epl2rl-input": "own_memory",
        "l2rl": "without_memory",
        "l2rl-context": "without_memory",
    },
    lines={
        "best with memory of its own context": "own_memory",
        "best without episodic memory": "without_memory",
        "chance": "chance",
    },
    baselines=baselines,
    checks=checks,
)
