"""What several verbs share: kinds of options, settings of an experiment."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast

from tyro.conf import Fixed, Positional, Suppress, arg

from reinstate.cli.parsing import Flag, Verb, Worded, peek
from reinstate.devices import Spread
from reinstate.errors import UserError, require_positive
from reinstate.memory import MEMORIES
from reinstate.runs.experiment import Experiment, experiment_names, find_experiment
from reinstate.settings import Settings

S = TypeVar("S", bound=Settings)


def shown(metavar: str, default: str | None = None) -> Any:
    """Let help show an option's value and its default in these words; "" shows no default."""
    hint = f"(default: {default})" if default else default
    return arg(metavar=metavar, help_behavior_hint=hint)


Names = Annotated[tuple[str, ...], shown("NAME …")]
NewFile = Annotated[Path | None, shown("FILE", "")]
RunFolder = Annotated[Path, Positional, shown("RUN")]


@dataclass(frozen=True, kw_only=True)
class Computing(Verb):
    """A verb that compiles programs and runs them."""

    def start(self, number: int | None = None) -> None:
        """Set JAX up, with so many devices where it has only a CPU, before anything touches it."""
        from reinstate import devices
        from reinstate.runs import compile_cache

        devices.divide_cpu(number)
        compile_cache.enable()


@dataclass(frozen=True, kw_only=True)
class OnResults(Verb):
    """A verb on recorded results."""

    results: Annotated[
        tuple[Path, ...], Positional, arg(metavar="RESULTS …", help_behavior_hint="(required)")
    ] = ()
    """Folders that `reinstate reproduce` left, their results.json, or judged run folders."""

    def __post_init__(self) -> None:
        if not self.results:
            verb = re.sub("(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()
            raise UserError(f"{verb} needs results first: reinstate {verb} RESULTS…")


@dataclass(frozen=True, kw_only=True)
class OnTask(Worded, Verb):
    """A verb on an experiment, which comes before the options: they depend on it."""

    first: ClassVar = "an experiment"
    name: Annotated[str, Fixed, Suppress]  # of the experiment

    @property
    def experiment(self) -> Experiment:
        """The experiment that was named."""
        return find_experiment(self.name)

    @classmethod
    def words(cls) -> dict[str, str]:
        """Return one line per experiment; of one that cannot be loaded, why."""
        return described(experiment_names(), find_experiment, lambda found: found.summary)


@dataclass(frozen=True, kw_only=True)
class OnExperiment(OnTask, Computing, Generic[S]):
    """A verb on an experiment with all its settings; their defaults depend on the preset."""

    settings: Annotated[S, arg(name="")]
    preset: str
    """Where defaults come from: quick (a laptop's CPU) or paper (an accelerator)."""
    memory_kind: str
    """Kind of memory that agents have, which has its own --memory options; see `reinstate list`."""
    out: Path
    """Folder for everything that is written."""

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
        start: Any = {"name": word, "settings": settings, "preset": preset, "memory_kind": kind}
        typed = cast(Any, Settings)[experiment.world, type(settings.memory)]
        return cast(Any, cls)[typed], cls(**start, **cls.defaults(experiment, arguments))

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        """Return the defaults of the verb's other options."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Training(OnExperiment[S]):
    """What `train` and `reproduce` share."""

    resume: Flag = False
    """Continue what an interrupted call left in --out."""
    checkpoint_every: int = 25
    """Epochs between checkpoints; one is also written when training ends or is interrupted."""
    keep_checkpoints: int = 2
    """How many of the newest checkpoints are kept, 2 or more; 0 keeps all."""
    devices: Annotated[int | None, shown("INT", "all")] = None
    """How many devices to use, GPUs or parts of the CPU; of each process, if there are several."""
    shard: Literal["seeds", "lanes", "auto"] = "seeds"
    """What devices share: seeds, the lanes of each seed, or (auto) lanes where devices are left."""
    track: Annotated[tuple[str, ...], shown("NAME …", "none")] = ()
    """Where metrics go besides metrics.jsonl: tensorboard, wandb; `reinstate list` names all."""

    def __post_init__(self) -> None:
        from reinstate.runs.loop import require_kept
        from reinstate.runs.sinks import require_sinks

        require_positive(checkpoint_every=self.checkpoint_every)
        require_kept(self.keep_checkpoints)
        if self.track:
            require_sinks(self.track)
        self.spread  # refuses what it cannot be  # noqa: B018

    @property
    def spread(self) -> Spread:
        """Return the devices to use, and for what."""
        return Spread(self.devices, self.shard)

    @property
    def how(self) -> dict[str, Any]:
        """Return the options of training, as `reinstate.runs.training.train` takes them."""
        names = ("checkpoint_every", "keep_checkpoints", "track")
        return {**{name: getattr(self, name) for name in names}, "spread": self.spread}


def described(
    names: Iterable[str], find: Callable[[str], Any], describe: Callable[[Any], Any]
) -> dict[str, Any]:
    """Describe each by name; of what cannot be loaded, say why."""
    texts = {}
    for name in names:
        try:
            texts[name] = describe(find(name))
        except UserError as error:
            texts[name] = str(error)
    return texts
