"""The verb `optimum`: the best that is possible."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from reinstate.cli.parsing import peek
from reinstate.cli.shared import OnTask
from reinstate.cli.tables import as_text, say, say_next
from reinstate.errors import UserError
from reinstate.runs.conclusions import optimum_of
from reinstate.runs.experiment import find_experiment
from reinstate.settings import to_dict

T = TypeVar("T")
WIDTH = 32  # of the names' column


@dataclass(frozen=True, kw_only=True)
class Optimum(OnTask, Generic[T]):
    """Compute the best reward that is possible in an experiment's task, with and without memory.

      reinstate optimum barcode-bandits
      reinstate optimum water-maze --task.height 3 --task.width 5

    Values are exact, unless their name says that they were simulated; a maze that is too large to
    solve gets bounds. Every setting of the task is an option: `reinstate optimum EXPERIMENT --help`
    explains them.
    """

    task: T
    preset: str
    """Where the task's defaults come from: quick or paper."""

    def do(self, command: str) -> dict[str, Any]:
        values = optimum_of(self.experiment, self.task)
        if not values:
            raise UserError(f"{self.name} has no optimum: its experiment says no way to compute it")
        return {"experiment": self.name, "task": to_dict(self.task), "optimum": values}

    def show(self, result: dict[str, Any]) -> None:
        values = result["optimum"]
        if "bounds" in values:
            say("Too large to solve exactly: these are bounds, except where it says exact.")
            values = {_bound(label): value for label, value in values["bounds"].items()}
        values = {name: each for name, each in values.items() if name != "elsewhere"}
        for label, value in values.items():
            say(f"{label.replace('_', ' '):{WIDTH}} {as_text(value)}")
        say_next(["reinstate", "reproduce", self.name], "train agents and compare")

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        experiment, generic = find_experiment(word), cast(Any, cls)
        preset = peek(arguments, "--preset", next(iter(experiment.presets)))
        task: Any = experiment.preset(preset).task
        return generic[type(task)], cls(name=word, task=task, preset=preset)


def _bound(label: str) -> str:
    for end, words in (("_lower", "at least"), ("_upper", "at most")):
        if label.endswith(end):
            return f"{label.removesuffix(end)} {words}"
    return f"{label} (exact)"
