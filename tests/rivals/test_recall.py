"""The recall probe: a rival learns to use earlier episodes, which a reset LSTM cannot."""

from dataclasses import replace

import numpy as np

from reinstate.agent import Network
from reinstate.baselines.bandits import bandit_optimum
from reinstate.evaluation import Evaluation
from reinstate.memory import DND
from reinstate.runs.experiment import LEARNER
from reinstate.settings import Settings
from reinstate.tasks.bandits import BarcodeBandits
from test_learning import learned

# One arm of three always pays. Two pulls find it in two of three first exposures.
PROBE: Settings[BarcodeBandits, DND] = Settings(
    BarcodeBandits(
        num_arms=3,
        pulls=2,
        num_contexts=3,
        repeats=6,
        barcode_length=4,
        p_good=1.0,
        p_bad=0.0,
        mapping="independent",
    ),
    network=Network(hidden_size=16),
    learner=replace(LEARNER, lanes=8, epochs=400, episodes_per_update=18),
    evaluation=Evaluation(epochs=100),
)


def test_deltanet_recalls_what_an_agent_without_memory_cannot_know() -> None:
    without = bandit_optimum(PROBE.task)["without_memory"]
    assert without == 1.0  # 1/3 on the first pull, 2/3 on the second
    record = learned("deltanet", PROBE)
    reward = np.asarray(record.reward)[0]  # (epochs, episodes, pulls)
    exposure = np.asarray(record.exposure)[0]
    assert reward.sum(axis=-1).mean() > without + 0.15
    # A first pull pays a third of the time, unless the context is known.
    first, later = (reward[..., 0][known].mean() for known in (exposure == 0, exposure >= 2))
    assert abs(first - 1 / 3) < 0.09 and later > 0.45
