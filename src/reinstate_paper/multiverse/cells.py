"""A cell: agents trained and evaluated with the same choices, and the claims tested on them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from reinstate.analysis.exposures import exposure_scores
from reinstate.analysis.results import CheckRow, Scores
from reinstate.files import check, read_json
from reinstate.runs.conclusions import if_solvable, optimum_of
from reinstate.runs.engines import Engine, Job
from reinstate.runs.experiment import Experiment, find_experiment
from reinstate.runs.progress import Reporter
from reinstate.runs.sweep import Asked, Handed, plan
from reinstate.settings import Value, recorded_settings, to_dict
from reinstate_paper.multiverse.grids import ALONE, LANES, MAPS, RATE

LEARNS = 0.5  # the share of what can be earned without a memory
STANDS_IN = {"epl2rl-input": "epl2rl", "l2rl-context": "l2rl", "epl2rl": "l2rl"}

Options = Mapping[str, Value]


class Cell(NamedTuple):
    """What was measured with one set of choices."""

    options: Options
    seeds: list[int]
    learns: bool
    reward: dict[str, list[float]]  # of each agent, per seed
    claims: list[dict[str, Any]]  # rows of `CheckRow`, and more: see `tested`


def run(jobs: Sequence[Job], engine: Engine, out: Path, reporter: Reporter) -> None:
    """Do what is not done yet."""
    folder = out.absolute()
    waiting = [job for job in jobs if not job.is_done(folder)]
    if waiting:
        (folder / "runs").mkdir(parents=True, exist_ok=True)  # inside `out`, which is held
        Handed(waiting, engine, 1, folder, reporter).see_through()


def chosen_rates(jobs: Iterable[Job], out: Path) -> dict[Value, Value]:
    """Return the learning rate at which each number of lanes earned most."""
    best: dict[Value, tuple[float, Value]] = {}
    for job in jobs:
        found = scores_of(job, out)["reward"]["mean"], job.options[RATE]
        lanes = job.options[LANES]
        best[lanes] = max(best.get(lanes, found), found)
    return {lanes: rate for lanes, (_, rate) in best.items()}


def scores_of(job: Job, out: Path) -> Scores:
    path = job.run(out).evaluation_path
    return check(Scores, read_json(path), path)


def cells_of(jobs: Iterable[Job], out: Path) -> list[Cell]:
    """Put the agents of each cell together, and test the experiment's claims on them.

    A cell of which an agent is not done is left out.
    """
    grouped: dict[str, list[Job]] = {}
    for job in jobs:
        grouped.setdefault(repr((job.experiment, sorted(job.options.items()))), []).append(job)
    done = (group for group in grouped.values() if all(job.is_done(out) for job in group))
    return [_cell(group, out) for group in done]


def _cell(jobs: Sequence[Job], out: Path) -> Cell:
    experiment = find_experiment(jobs[0].experiment)
    settings = recorded_settings(experiment.world, jobs[0].settings)
    seeds = list(settings.seed_range)
    agents: dict[str, Any] = {job.agent: {"seeds": seeds, **scores_of(job, out)} for job in jobs}
    optimum, baselines = _held_against(experiment, settings)
    bar = optimum["chance"] + LEARNS * (optimum["without_memory"] - optimum["chance"])
    without = "l2rl" if "l2rl" in agents else "l2rl-context"
    learned = (agents[name]["reward"]["mean"] for name in (without, "epl2rl"))
    return Cell(
        dict(jobs[0].options),
        seeds,
        all(reward >= bar for reward in learned),
        {name: agent["reward"]["per_seed"] for name, agent in agents.items()},
        tested(experiment, agents, optimum, baselines),
    )


_known: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}


def _held_against(experiment: Experiment, settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return optimum and baselines, which many cells share."""
    values = to_dict(settings)
    parts = ("task", "evaluation", "seeds", "first_seed")  # agents are of no account
    what = json.dumps([experiment.name, *(values[part] for part in parts)])
    if what not in _known:
        optimum = if_solvable(lambda: optimum_of(experiment, settings.task))
        others = if_solvable(lambda: experiment.baselines(settings))
        _known[what] = optimum, {name: exposure_scores(each) for name, each in others.items()}
    return _known[what]


def tested(
    experiment: Experiment, agents: Mapping[str, Any], optimum: Any, baselines: Any
) -> list[dict[str, Any]]:
    """Test the paper's claims on the agents of a cell.

    A row also says for which seeds alone the claim holds, and the row of its control.
    """

    def rows(agents: Mapping[str, Any]) -> dict[str, CheckRow]:
        found = experiment.checks(agents, optimum, baselines)
        return {check.claim: check.as_row() for check in found if check.paper}

    count = len(next(iter(agents.values()))["seeds"])
    single = [rows({name: of_seed(a, n) for name, a in agents.items()}) for n in range(count)]
    found = []
    for text, row in rows(agents).items():
        holds = [inside(each[text]) for each in single if text in each]
        stand_in = controlled(agents, text)
        control = rows(stand_in).get(text) if stand_in else None
        found.append({**row, "holds": holds, "control": control})
    return found


def controlled(agents: Mapping[str, Any], claim: str) -> dict[str, Any] | None:
    """Let another agent stand in for the one that a claim is about; None if there is none."""
    subjects = [name for name in STANDS_IN if claim.startswith((f"{name} ", f"{name}'s"))]
    if not subjects:
        return None
    other = STANDS_IN[subjects[0]]
    other = other if other in agents else "l2rl-context"
    return {**agents, subjects[0]: agents[other]} if other in agents else None


def inside(row: CheckRow) -> bool:
    low, high = row["region"]
    return (low is None or row["value"] >= low) and (high is None or row["value"] <= high)


def of_seed(value: Any, place: int) -> Any:
    """Return the scores of a single seed."""
    if not isinstance(value, dict):
        return value
    found = {name: of_seed(each, place) for name, each in value.items()}
    for name in ("per_seed", "per_participant", "seeds"):
        if isinstance(value.get(name), list):
            found[name] = [value[name][place]]
            if name != "seeds":
                found |= {"mean": value[name][place], "ci95": None}
    return found


def make_map(
    name: str,
    do: Callable[[list[Job]], None],
    wanted: Callable[[Job], bool],
    out: Path,
    known: Sequence[Cell] = (),
    first_seed: int | None = None,
) -> list[Cell]:
    """Make a map, or the cells of it that are wanted: `do` does jobs that are not done yet.

    `known` cells were recorded: they give lanes their rates, and on the same seeds they are done.
    """
    grid = MAPS[name]
    rates = {cell.options[LANES]: cell.options[RATE] for cell in known}
    if not rates.keys() >= {*grid.factors[LANES]}:
        first = plan(grid.rates())
        do(first)
        rates |= chosen_rates(first, out)
    return _fill(grid.cells(rates), do, wanted, out, known, first_seed)


def change_alone(
    experiment: str,
    do: Callable[[list[Job]], None],
    wanted: Callable[[Job], bool],
    out: Path,
    known: Sequence[Cell] = (),
    first_seed: int | None = None,
) -> list[Cell]:
    """Change one factor after the other from the paper preset, or only those that are wanted."""
    return _fill(ALONE[experiment].cells(experiment), do, wanted, out, known, first_seed)


def _fill(
    asked: Iterable[Asked],
    do: Callable[[list[Job]], None],
    wanted: Callable[[Job], bool],
    out: Path,
    known: Sequence[Cell],
    first_seed: int | None,
) -> list[Cell]:
    """Do the wanted jobs of cells that are not known, and return all cells in the grid's order."""
    if first_seed is not None:
        asked = (replace(each, first_seed=first_seed) for each in asked)
    jobs = [job for each in asked for job in plan(each)]
    cells = {_choices(each.options): each for each in known if _same_seeds(each, jobs[0])}
    do([job for job in jobs if wanted(job) and _choices(job.options) not in cells])
    cells |= {_choices(each.options): each for each in cells_of(jobs, out)}
    order = dict.fromkeys(_choices(job.options) for job in jobs)
    return [cells[each] for each in order if each in cells]


def _choices(options: Options) -> frozenset[tuple[str, Value]]:
    return frozenset(options.items())


def _same_seeds(cell: Cell, job: Job) -> bool:
    first, count = job.settings["first_seed"], job.settings["seeds"]
    return cell.seeds == [*range(first, first + count)]
