"""Random command lines: options of all verbs, drawn from the dataclasses that define them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from reinstate.agent import AGENTS
from reinstate.cli.reproduce import Reproduce
from reinstate.cli.train import Train
from reinstate.cli.tune import Tune
from reinstate.memory import MEMORIES
from reinstate.runs.experiment import experiment_names, find_experiment
from reinstate_paper.omniglot.pretraining import PRESETS
from reinstate_paper.pretrain import Pretrain

MOST = 6  # options of one line
EXTREME = 0.25  # share of values that are
NOT_ASKED = ("name", "out", "preset", "memory_kind", "track", "images", "download", "json")
AMONG_OTHERS = ("distributed", "coordinator", "num_processes", "process_id")  # who would be awaited
UNPREFIXED = ("settings", "search")  # whose options have no name before theirs
WHOLE = [0, -1, 1, 2, 1000, 10**6, 10**9, 2**31 - 1, 2**31, 2**32, 2**63, 10**30, -(2**31)]
REAL = [0.0, -1.0, 1.0, -1e-30, 1e-30, 1e-45, 5e-324, 1e10, 1e30, 3e38, 4e38, 1e308]
REAL += [math.nan, math.inf, -math.inf, 2.0**31, 1 - 1e-9, 1 + 1e-9]
WORDS = ["", "nobody", "[/b]", "\x1b[31m", "../x", "-1", "nan", "x" * 300, "\u202e", "é"]


class Option(NamedTuple):
    """An option of a verb, with its default."""

    flag: str
    kind: Any
    value: Any


def line(random: Random) -> list[str]:
    """Draw a command line, without the word `reinstate`."""
    verbs = {_of_training: 10, _of_search: 4, _of_pretraining: 3, _of_all: 1, _of_judging: 2}
    make: Callable[[Random], list[str]] = random.choices([*verbs], [*verbs.values()])[0]
    return make(random)


def _of_training(random: Random) -> list[str]:
    if random.random() < 0.7:
        return _on_experiment(random, Train, "train")
    words = _on_experiment(random, Reproduce, "reproduce")
    one = ["--agents", random.choice([*AGENTS])]  # each takes a second to size
    return words if "--agents" in words else [*words, *one]


def _of_search(random: Random) -> list[str]:
    return _on_experiment(random, Tune, "tune")


def _on_experiment(random: Random, verb: Any, name: str) -> list[str]:
    experiment = random.choice(experiment_names())
    first = ["--preset", random.choice([*find_experiment(experiment).presets])]
    if random.random() < 0.2:
        first += ["--memory-kind", random.choice([*MEMORIES])]
    _, default = verb.for_word(experiment, first)
    return [name, experiment, *first, *_drawn(random, [*options_of(default)])]


def _of_pretraining(random: Random) -> list[str]:
    first = ["--preset", random.choice([*PRESETS])]
    _, default = Pretrain.for_word("omniglot", first)
    return ["pretrain", "omniglot", *first, *_drawn(random, [*options_of(default)])]


def _of_all(random: Random) -> list[str]:
    names = ["--experiments", *random.sample(experiment_names(), random.randint(1, 2))]
    counts = [Option("--seeds", int, 2), Option("--first-seed", int, 0)]
    return ["reproduce", "all", *names, *_drawn(random, counts)]


def _of_judging(random: Random) -> list[str]:
    experiment = random.choice(experiment_names())
    run = f"{experiment}/{random.choice(['epl2rl', 'l2rl'])}"
    counts = [Option("--seed", int, 2), Option("--epochs", int, 10)]
    if random.random() < 0.3:
        shown = [Option("--exposure", int, 1), Option("--context", int, 2), counts[0]]
        return ["watch", experiment, *_drawn(random, [*shown, Option("--speed", float, 4.0)])]
    if random.random() < 0.5:
        return ["memory-map", run, *_drawn(random, counts)]
    return ["evaluate", run, *_drawn(random, counts)]


def options_of(settings: Any, prefix: str = "") -> Iterator[Option]:
    """List all options that a dataclass of defaults stands for, those of its parts included."""
    hints = get_type_hints(type(settings))
    for field in fields(settings):
        value, kind = getattr(settings, field.name), hints[field.name]
        if field.name in NOT_ASKED + AMONG_OTHERS or isinstance(value, Path):
            continue
        name = field.name.replace("_", "-")
        if is_dataclass(value):
            yield from options_of(value, prefix if field.name in UNPREFIXED else f"{prefix}{name}.")
        else:
            literal = get_origin(kind) is Literal
            yield Option(f"--{prefix}{name}", kind if literal else type(value), value)


def _drawn(random: Random, options: list[Option]) -> list[str]:
    """Give some of the options a value each."""
    count = min(random.randint(1, MOST), len(options))
    return [word for option in random.sample(options, count) for word in _words(random, option)]


def _words(random: Random, option: Option) -> list[str]:
    flag, kind, value = option
    if kind is bool:
        *parts, name = flag.removeprefix("--").split(".")
        return [f"--{'.'.join([*parts, random.choice(['', 'no-']) + name])}"] if parts else [flag]
    if kind is tuple:
        count = len(value) if random.random() < 0.9 else random.randint(0, 3)
        parts_of = [value[place % len(value)] for place in range(count)] if value else []
        return [flag, *(_value(random, type(part), part) for part in parts_of)]
    drawn = _value(random, kind, value)
    return [f"{flag}={drawn}"] if random.random() < 0.8 else [flag, drawn]


def _value(random: Random, kind: Any, value: Any) -> str:
    extreme = random.random() < EXTREME
    if get_origin(kind) is Literal:
        return random.choice(WORDS) if extreme else str(random.choice(get_args(kind)))
    if kind is str:
        return random.choice(WORDS) if extreme else random.choice([*AGENTS])
    if kind is int:
        near = [1, 2, value, value + 1, 2 * value, value // 2, random.randint(1, 2 * value + 2)]
        return str(random.choice(WHOLE if extreme else near))
    if kind is float:
        near = [value, value / 2, value * 2, random.random(), value * random.random()]
        return repr(random.choice(REAL if extreme else near))
    return str(value)
