"""What a verb is, and what several share: kinds of options, settings of an experiment."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar, cast

import tyro

from reinstate.cli.parsing import peek
from reinstate.errors import UserError
from reinstate.experiments import experiment_names, find_experiment
from reinstate.experiments.base import Experiment
from reinstate.memory import MEMORIES
from reinstate.settings import MAX_SEED, Settings

S = TypeVar("S", bound=Settings)

Flag = Annotated[bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help_behavior_hint="")]
Names = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME …")]
NewFile = Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")]
RunFolder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """What a verb does. Its fields are the options, its docstring is the help."""

    json: Flag = False
    """Print the result as JSON."""

    def do(self, command: str) -> Any:
        """Do it, and return the result; `command` is the whole line, for records."""
        raise NotImplementedError

    def show(self, result: Any) -> None:
        """Print a result for people; the last line names the next command."""


@dataclass(frozen=True, kw_only=True)
class OnResults(Verb):
    """A verb on recorded results."""

    results: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="RESULTS …", help_behavior_hint="(required)"),
    ] = ()
    """Folders that `reinstate reproduce` left, their results.json, or judged run folders."""

    def __post_init__(self) -> None:
        if not self.results:
            verb = type(self).__module__.rpartition(".")[2].replace("_", "-")
            raise UserError(f"{verb} needs results first: reinstate {verb} RESULTS…")


@dataclass(frozen=True, kw_only=True)
class OnExperiment(Verb, Generic[S]):
    """A verb on an experiment, which has settings; their defaults depend on the preset."""

    first: ClassVar = "an experiment"  # what comes before the options
    name: Annotated[str, tyro.conf.Fixed, tyro.conf.Suppress]  # of the experiment
    settings: Annotated[S, tyro.conf.arg(name="")]
    preset: str
    """Where defaults come from: quick (a laptop's CPU) or paper (an accelerator)."""
    memory_kind: str
    """Kind of memory that agents have, which has its own --memory options; see `reinstate list`."""
    out: Path
    """Folder for everything that is written."""

    @property
    def experiment(self) -> Experiment:
        """The experiment that was named."""
        return find_experiment(self.name)

    @classmethod
    def words(cls) -> dict[str, str]:
        """Return one line per experiment; of one that cannot be loaded, why."""
        return {name: _about(name) for name in experiment_names()}

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        """Return the options for an experiment, as a type and as defaults.

        Two options decide what the others are, so they are looked at before anything is parsed: the
        preset has the defaults, and each kind of memory has its own settings.
        """
        experiment = find_experiment(word)
        presets = [*experiment.presets]
        preset = peek(arguments, "--preset", "quick" if "quick" in presets else presets[0])
        settings = experiment.preset(preset)
        own = MEMORIES.name_of(type(settings.memory)) or type(settings.memory).__name__
        kind = peek(arguments, "--memory-kind", own)
        if kind != own:
            settings = replace(settings, memory=MEMORIES.find(kind)())
        start: dict[str, Any] = {
            "name": word,
            "settings": settings,
            "preset": preset,
            "memory_kind": kind,
        }
        typed = cast(Any, Settings)[experiment.world, type(settings.memory)]
        return cast(Any, cls)[typed], cls(**start, **cls.defaults(experiment, arguments))

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        """Return the defaults of the verb's other options."""
        raise NotImplementedError


def _about(name: str) -> str:
    try:
        return find_experiment(name).summary
    except UserError as error:
        return str(error)


def require_seed(seed: int) -> None:
    """Refuse a seed that random numbers cannot start from."""
    if not 0 <= seed <= MAX_SEED:
        raise UserError(f"seed must lie between 0 and {MAX_SEED}, not {seed}")
