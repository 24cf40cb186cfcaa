"""Meta-learning agents with an episodic memory.

The paper is Ritter et al., "Been There, Done That: Meta-Learning with Episodic Recall", ICML 2018.
`train` and `load` are the front door for notebooks, `fit_choices` is the one for choices of people;
the cell, the memory and the processes serve in programs of your own; `register` adds tasks, agents,
memories and experiments. Each is imported when it is first needed, so that a task alone loads
neither learner nor runs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reinstate.agent import Maker, Network
    from reinstate.cell import EpisodicLSTMCell
    from reinstate.choices.model import simulate
    from reinstate.errors import UserError
    from reinstate.evaluation import Evaluation, evaluate
    from reinstate.learner import A2C
    from reinstate.memory import DND, Consolidating, Memory, Retrieval
    from reinstate.player import Decision, Inputs, Player
    from reinstate.registry import register
    from reinstate.runs.choice_fits import fit_choices
    from reinstate.runs.experiment import Experiment
    from reinstate.runs.notebook import RecordedResults, TrainedAgent, load, train
    from reinstate.settings import Settings
    from reinstate.tasks.base import World

_HOMES = {
    "agent": ("Maker", "Network"),
    "cell": ("EpisodicLSTMCell",),
    "choices.model": ("simulate",),
    "errors": ("UserError",),
    "evaluation": ("Evaluation", "evaluate"),
    "learner": ("A2C",),
    "memory": ("DND", "Consolidating", "Memory", "Retrieval"),
    "player": ("Decision", "Inputs", "Player"),
    "registry": ("register",),
    "runs.choice_fits": ("fit_choices",),
    "runs.experiment": ("Experiment",),
    "runs.notebook": ("RecordedResults", "TrainedAgent", "load", "train"),
    "settings": ("Settings",),
    "tasks.base": ("World",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'reinstate' has no attribute {name!r}")
    return getattr(import_module(f"reinstate.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
