"""The grids: which choices are changed, together on a map or one by one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reinstate.runs.experiment import find_experiment
from reinstate.runs.sweep import Asked
from reinstate.settings import Value

RATE, LANES, EPOCHS = "learner.learning-rate", "learner.lanes", "learner.epochs"
RATES = (0.3, 1.0, 3.0)  # of the preset's learning rate, among which lanes choose theirs
PRESET = ""  # the factor of a cell in which nothing was changed
MAP_SEEDS, MAP_FIRST_SEED = 3, 3400
ALONE_SEEDS, ALONE_FIRST_SEED = 10, 3500
CONSTANT_ENTROPY = {"learner.entropy-cost-end": (0.0, 0.05)}
OPTIMISERS = {"learner.optimizer": ("adam", "rmsprop")}


@dataclass(frozen=True)
class Map:
    """A grid of cells in which some claims of an experiment are tested."""

    experiment: str
    agents: tuple[str, ...]  # the one without memory first
    claims: tuple[str, ...]  # how their texts begin
    factors: Mapping[str, tuple[Value, ...]]

    def cells(self, rates: Mapping[Value, Value]) -> Iterator[Asked]:
        """Ask for all cells; a number of lanes has a learning rate of its own."""
        for lanes in self.factors[LANES]:
            yield self.asked({**self.factors, LANES: (lanes,), RATE: (rates[lanes],)})

    def rates(self) -> Asked:
        """Ask for the runs of the agent without memory by which lanes choose their rates."""
        base = find_experiment(self.experiment).preset("quick").learner.learning_rate
        rates = tuple(float(f"{share * base:.2g}") for share in RATES)
        asked = self.asked({LANES: self.factors[LANES], RATE: rates})
        return replace(asked, agents=self.agents[:1])

    def asked(self, settings: Mapping[str, tuple[Value, ...]]) -> Asked:
        seeds: Any = {"seeds": MAP_SEEDS, "first_seed": MAP_FIRST_SEED}
        return Asked((self.experiment,), self.agents, "quick", settings=settings, **seeds)


MAPS = {
    "memory-as-input": Map(
        "barcode-bandits",
        ("l2rl", "epl2rl", "epl2rl-input"),
        ("epl2rl-input is at chance",),
        {LANES: (1, 4, 16, 64, 256), EPOCHS: (20, 60, 200), **OPTIMISERS, **CONSTANT_ENTROPY},
    ),
    "context-drowns": Map(
        "omniglot-bandits",
        ("l2rl", "epl2rl", "l2rl-context"),
        ("l2rl-context fails",),
        {
            LANES: (4, 16, 64, 256),
            EPOCHS: (30, 100),
            "task.scale": (1.0, 2.0, 4.0, 11.3),
            **OPTIMISERS,
        },
    ),
    "similar-at-first": Map(
        "omniglot-bandits",
        ("l2rl", "epl2rl"),
        ("epl2rl's regret at exposure 1",),
        {
            LANES: (4, 16, 64, 256),
            EPOCHS: (30, 100),
            "memory.k": (1, 5),
            "learner.through-storage": (False, True),
            **CONSTANT_ENTROPY,
        },
    ),
    "strategies": Map(
        "two-step",
        ("l2rl", "epl2rl"),
        ("epl2rl uses", "epl2rl does not use"),
        {
            LANES: (8, 32, 128),
            EPOCHS: (100, 300),
            "task.p-common": (0.7, 0.8, 0.9),
            **OPTIMISERS,
            **CONSTANT_ENTROPY,
        },
    ),
    "close-to-optimal": Map(
        "water-maze",
        ("l2rl", "epl2rl"),
        ("epl2rl is close to optimal", "epl2rl takes a shortest path"),
        {
            LANES: (4, 16, 64),
            EPOCHS: (20, 60, 180),
            "memory.k": (1, 5),
            **OPTIMISERS,
            **CONSTANT_ENTROPY,
        },
    ),
}


@dataclass(frozen=True)
class Alone:
    """Factors of an experiment, each changed by itself from the paper preset."""

    factors: Mapping[str, tuple[Value, ...]]
    agents: tuple[str, ...] = ()  # of none, the experiment's

    def cells(self, experiment: str) -> Iterator[Asked]:
        """Ask for the preset itself, and for each level of each factor."""
        for name, levels in {PRESET: (), **self.factors}.items():
            settings: Any = {name: levels} if name else {}
            seeds: Any = {"seeds": ALONE_SEEDS, "first_seed": ALONE_FIRST_SEED}
            yield Asked((experiment,), self.agents, "paper", settings=settings, **seeds)


EVERYWHERE: Mapping[str, tuple[Value, ...]] = {
    LANES: (16, 64),
    "learner.optimizer": ("rmsprop",),
    "learner.entropy-cost-end": (0.05,),
    "learner.through-storage": (True,),
    "memory.k": (5,),
}
ALONE = {
    "barcode-bandits": Alone({**EVERYWHERE, EPOCHS: (15, 50)}),
    "omniglot-bandits": Alone({"task.scale": (11.3,), **EVERYWHERE, EPOCHS: (15, 50)}),
    "compositional-bandits": Alone({LANES: (64,)}),
    "water-maze": Alone({**EVERYWHERE, EPOCHS: (15, 50)}),
    "two-step": Alone({"task.p-common": (0.7, 0.9), **EVERYWHERE, EPOCHS: (100, 300)}),
}
