"""The paper's experiments, one module each, by the names the command uses."""

from reinstate.experiments.barcode_bandits import BARCODE_BANDITS
from reinstate.experiments.base import Experiment
from reinstate.experiments.water_maze import WATER_MAZE

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (BARCODE_BANDITS, WATER_MAZE)}
