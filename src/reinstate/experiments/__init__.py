"""The paper's experiments, one module each, by the names the command uses."""

from reinstate.experiments.barcode_bandits import BARCODE_BANDITS
from reinstate.experiments.base import Experiment
from reinstate.experiments.compositional_bandits import COMPOSITIONAL_BANDITS
from reinstate.experiments.omniglot_bandits import OMNIGLOT_BANDITS
from reinstate.experiments.two_step import TWO_STEP
from reinstate.experiments.water_maze import WATER_MAZE

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (
        BARCODE_BANDITS,
        OMNIGLOT_BANDITS,
        COMPOSITIONAL_BANDITS,
        WATER_MAZE,
        TWO_STEP,
    )
}
