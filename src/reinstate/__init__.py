"""Meta-learning agents with an episodic memory.

The paper is Ritter et al., "Been There, Done That: Meta-Learning with Episodic Recall", ICML 2018.
`train` and `load` are the front door for notebooks; the cell, the memory and the processes serve in
programs of your own; `register` adds tasks, agents, memories and experiments. Each is imported when
it is first asked for, so that a task alone loads neither learner nor runs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reinstate.agent import Decision, Network, Player
    from reinstate.cell import EpisodicLSTMCell, Gates, LSTMState
    from reinstate.errors import UserError
    from reinstate.evaluation import Evaluation
    from reinstate.experiments.base import Experiment
    from reinstate.learner import A2C
    from reinstate.memory import DND, Memory, Retrieval
    from reinstate.processes import Bag, Urn
    from reinstate.registry import register
    from reinstate.runs.notebook import RecordedResults, TrainedAgent, load, train
    from reinstate.settings import Settings

_HOMES = {
    "A2C": "learner",
    "Bag": "processes",
    "DND": "memory",
    "Decision": "agent",
    "EpisodicLSTMCell": "cell",
    "Evaluation": "evaluation",
    "Experiment": "experiments.base",
    "Gates": "cell",
    "LSTMState": "cell",
    "Memory": "memory",
    "Network": "agent",
    "Player": "agent",
    "RecordedResults": "runs.notebook",
    "Retrieval": "memory",
    "Settings": "settings",
    "TrainedAgent": "runs.notebook",
    "Urn": "processes",
    "UserError": "errors",
    "load": "runs.notebook",
    "register": "registry",
    "train": "runs.notebook",
}

__all__ = [
    "A2C",
    "DND",
    "Bag",
    "Decision",
    "EpisodicLSTMCell",
    "Evaluation",
    "Experiment",
    "Gates",
    "LSTMState",
    "Memory",
    "Network",
    "Player",
    "RecordedResults",
    "Retrieval",
    "Settings",
    "TrainedAgent",
    "Urn",
    "UserError",
    "load",
    "register",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reinstate' has no attribute {name!r}")
    return getattr(import_module(f"reinstate.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
