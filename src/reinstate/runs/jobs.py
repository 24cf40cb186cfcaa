"""What a sweep asks for → runs with stable names: experiments × agents × settings × seeds."""

import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.errors import UserError
from reinstate.files import read_bytes
from reinstate.runs import size
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.run import Run
from reinstate.settings import Value, changed, flat, from_dict, to_dict

LARGEST_FILE = 1_000_000  # bytes of a sweep's file
LONGEST_NAME = 120  # characters of a run's name


@dataclass(frozen=True)
class Asked:
    """What a sweep asks for."""

    experiments: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()  # of none, those of each experiment
    preset: str = "quick"
    seeds: int | None = None  # of none, the preset's
    first_seed: int | None = None
    seeds_per_run: int | None = None  # of none, all in one run
    retries: int = 1
    settings: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)


class Job(NamedTuple):
    """One run of a sweep."""

    name: str
    experiment: str
    agent: str
    preset: str
    options: Mapping[str, Value]  # what the sweep set, by the names of train's options
    settings: Mapping[str, Any]  # all, as plain values

    def run(self, folder: Path) -> Run:
        """Return its run, in the folder of the sweep."""
        return Run(folder / "runs" / self.name)

    def is_done(self, folder: Path) -> bool:
        """Whether it was trained and evaluated."""
        return self.run(folder).evaluation_path.exists()


def read_file(path: Path) -> dict[str, Any]:
    """Read a sweep's TOML file: fields of `Asked`, by name."""
    try:
        found = tomllib.loads(read_bytes(path, LARGEST_FILE).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no TOML file: {error}") from None
    asked = {key.replace("-", "_"): value for key, value in found.items()}
    if isinstance(table := asked.get("settings"), dict):
        asked["settings"] = {
            name: value if isinstance(value, list) else [value] for name, value in flat(table)
        }
    checked = from_dict(Asked, asked, str(path))
    return {name: getattr(checked, name) for name in asked}


def plan(asked: Asked) -> list[Job]:
    """List the runs of a sweep, each once; refuse what cannot work."""
    if not asked.experiments:
        raise UserError(
            "a sweep needs experiments, as in --experiments barcode-bandits water-maze;"
            " `reinstate list` has them"
        )
    jobs: dict[str, Job] = {}  # by what makes them what they are
    for name in asked.experiments:
        for job in _of_experiment(asked, find_experiment(name)):
            what = json.dumps([job.experiment, job.agent, job.settings], sort_keys=True)
            jobs.setdefault(what, job)
    if not jobs:
        raise UserError("a setting has nothing to choose from: there would be no run")
    return [*jobs.values()]


def _of_experiment(asked: Asked, experiment: Experiment) -> Iterator[Job]:
    agents = asked.agents or experiment.agents
    for agent, values in itertools.product(agents, itertools.product(*asked.settings.values())):
        options = dict(zip(asked.settings, values, strict=True))
        base = changed(experiment.preset(asked.preset), options)
        seeds = base.seeds if asked.seeds is None else asked.seeds
        first = base.first_seed if asked.first_seed is None else asked.first_seed
        step = seeds if asked.seeds_per_run is None else min(asked.seeds_per_run, seeds)
        size.require_room(replace(base, seeds=step, first_seed=first), agent, evaluated=True)
        for start in range(first, first + seeds, step):
            count = min(step, first + seeds - start)
            settings = to_dict(replace(base, seeds=count, first_seed=start))
            name = _name(asked, experiment.name, agent, options, range(start, start + count))
            yield Job(name, experiment.name, agent, asked.preset, options, settings)


def _name(
    asked: Asked, experiment: str, agent: str, options: Mapping[str, Value], seeds: range
) -> str:
    """Name a run by what tells it from others, and by a hash of all that was asked of it."""
    varied = [name for name, choices in asked.settings.items() if len(choices) > 1]
    short = [name.rpartition(".")[2] for name in varied]
    shown = [
        f"{name if short.count(last) > 1 else last}={options[name]}"
        for name, last in zip(varied, short, strict=True)
    ]
    last = f"seed{seeds[0]}" if len(seeds) == 1 else f"seeds{seeds[0]}-{seeds[-1]}"
    text = re.sub(r"[^\w.=+-]+", "_", "-".join([experiment, agent, *shown, last]))
    whole = [experiment, agent, asked.preset, sorted(options.items()), list(seeds)]
    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:8]
    return f"{text[:LONGEST_NAME]}-{digest}"
