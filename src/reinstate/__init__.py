"""Meta-learning agents with an episodic memory.

The paper is Ritter et al., "Been There, Done That: Meta-Learning with Episodic Recall", ICML 2018.
The pieces below serve in programs of your own; the rest of the package is the paper's experiments.
"""

from reinstate.cell import EpisodicLSTMCell, Gates, LSTMState
from reinstate.errors import UserError
from reinstate.memory import DND, Memory, Retrieval
from reinstate.processes import Bag, Urn

__all__ = [
    "DND",
    "Bag",
    "EpisodicLSTMCell",
    "Gates",
    "LSTMState",
    "Memory",
    "Retrieval",
    "Urn",
    "UserError",
]
