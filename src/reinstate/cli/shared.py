"""What several verbs share: kinds of options, settings of an experiment."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast

from tyro.conf import Fixed, Positional, Suppress, UseAppendAction, arg

from reinstate.cli.parsing import Flag, Verb, Worded, explained, peek
from reinstate.devices import Spread
from reinstate.errors import UserError
from reinstate.learner import A2C
from reinstate.memory import MEMORIES
from reinstate.runs.experiment import (
    EXPERIMENTS,
    Experiment,
    experiment_names,
    find_experiment,
)
from reinstate.settings import MEMORY_KIND, Settings, changed, read_set
from reinstate.tasks.base import World

W = TypeVar("W", bound=World)

OFTEN = (  # options that people change, besides the sizes of tasks; --help-all has the others
    *("help", "agent", "agents", "preset", "seeds", "set", "out", "resume", "from", "rates"),
    *("trials", "rounds", "learner.lanes", "learner.epochs", "learner.learning-rate"),
)


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

        devices.divide_cpu(number)
        devices.keep_programs()


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
        return {name: getattr(each, "summary", each) for name, each in listed().items()}


@dataclass(frozen=True)
class Common(Generic[W]):
    """The settings that are options of their own; --set changes the others."""

    task: W
    learner: A2C
    seeds: int
    """How many agents are trained, each from its own seed."""
    first_seed: int
    """The first seed; the others count on from it."""


@dataclass(frozen=True, kw_only=True)
class OnExperiment(OnTask, Computing, Generic[W]):
    """A verb on an experiment with all its settings; their defaults depend on the preset."""

    common: Annotated[Common[W], arg(name="")]
    preset: str
    """Where defaults come from: quick (a laptop's CPU) or paper (an accelerator)."""
    set: Annotated[tuple[tuple[str, ...], ...], UseAppendAction, shown("NAME=VALUE …", "")] = ()
    """Other settings, which --help-all lists: memory.k=5 network.reset=epoch."""
    out: Path
    """Folder for everything that is written."""

    def __post_init__(self) -> None:
        self.settings  # refuses what cannot work  # noqa: B018

    @cached_property
    def settings(self) -> Settings[W, Any]:
        """The preset's settings with all that was changed."""
        given = read_set(chain(*self.set)).items()
        values = {name: found[0] if len(found) == 1 else found for name, found in given}
        return changed(self.experiment.preset(self.preset), values, asdict(self.common))

    def more(self, arguments: list[str]) -> dict[str, str]:
        """Return what --set changes, as NAME=DEFAULT, and what it means."""
        kind = [word for word in arguments if word.startswith(f"{MEMORY_KIND}=")]
        settings = changed(self.settings, dict(word.split("=", 1) for word in kind))
        name = MEMORIES.name_of(type(settings.memory))
        rows = {f"{MEMORY_KIND}={name}": "Kind of memory: `reinstate list`."}
        for name in ("memory", "network", "evaluation"):
            rows |= _described_settings(f"{name}.", getattr(settings, name))
        return rows

    def often(self) -> list[str]:
        sizes = [
            n for n, value in asdict(cast(Any, self.common.task)).items() if type(value) is int
        ]
        names = [*OFTEN, *(f"task.{name}" for name in sizes)]
        return [f"--{name.replace('_', '-')}" for name in names]

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        """Return the options for an experiment, as a type and as the preset's defaults."""
        experiment = find_experiment(word)
        presets = [*experiment.presets]
        preset = peek(arguments, "--preset", "quick" if "quick" in presets else presets[0])
        base = experiment.preset(preset)
        common = Common(base.task, base.learner, base.seeds, base.first_seed)
        start: Any = {"name": word, "preset": preset, "common": common}
        return cast(Any, cls)[experiment.world], cls(**start, **cls.defaults(experiment, arguments))

    @classmethod
    def defaults(cls, experiment: Experiment, arguments: list[str]) -> dict[str, Any]:
        """Return the defaults of the verb's other options."""
        raise NotImplementedError


def _described_settings(prefix: str, settings: Any) -> Iterator[tuple[str, str]]:
    meanings = explained(type(settings))
    for each in fields(settings):
        name, value = prefix + each.name.replace("_", "-"), getattr(settings, each.name)
        if is_dataclass(value):
            yield from _described_settings(f"{name}.", value)
        else:
            yield f"{name}={value}", meanings[each.name]


@dataclass(frozen=True, kw_only=True)
class Training(OnExperiment[W]):
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

        super().__post_init__()
        require_kept(self.checkpoint_every, self.keep_checkpoints)
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


def listed() -> dict[str, Any]:
    """Load all experiments; a task has one of its own only where none is about it."""
    found = described(experiment_names(), find_experiment, lambda each: each)
    worlds = [getattr(found[name], "world", None) for name in EXPERIMENTS]
    return {
        n: e for n, e in found.items() if n in EXPERIMENTS or getattr(e, "world", e) not in worlds
    }


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
