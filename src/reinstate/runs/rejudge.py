"""Recorded results, judged again from the numbers of their single seeds.

What was measured stays as it is. Optima, intervals, shares of ceilings and verdicts are made by the
rules of this version, which may not be those of the version that recorded them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from reinstate.analysis.documents import checked
from reinstate.analysis.intervals import over_seeds, without_nan
from reinstate.analysis.results import JudgedBy, Recorded, Results, results_file
from reinstate.choices.documents import per_participant
from reinstate.choices.participants import t_test
from reinstate.choices.stay import over_each_cell
from reinstate.errors import UserError, one_line
from reinstate.files import read_json, write_json
from reinstate.runs.experiment import find_experiment
from reinstate.runs.gather import judged
from reinstate.runs.provenance import provenance
from reinstate.runs.reproduce import conclude, draw, if_solvable, optimum_of
from reinstate.settings import completed, from_dict
from reinstate_paper.memory_as_input import Rows

T = TypeVar("T")

RENAMED = {"leave_one_out": "without"}  # names of earlier versions


class _Inputs(TypedDict):
    """What `reinstate memory-as-input` gathered."""

    experiments: Rows


def rejudge_file(path: Path) -> Mapping[str, Any]:
    """Rewrite a results.json (or the one in a folder) and redraw the figures beside it.

    A file of any other name is rewritten alone: figures have the names of a reproduction's.
    """
    file, _ = results_file(path)
    document: Any = read_json(file)
    if isinstance(document, dict) and "totals" in document:
        raise UserError(
            f"{file} only sums other results up: rejudge those, and make it again with"
            " reinstate reproduce all"
        )
    if isinstance(document, dict) and "experiments" in document:
        checked(_Inputs, document, file)
        document = as_recorded(file, partial(_rejudge_inputs, document))
    else:
        document = rejudge(checked(Recorded, document, file), file)
    if file.name == "results.json":
        draw(find_experiment(document["experiment"]), document, file.parent)
    write_json(file, document)  # last, as in a reproduction
    found: Mapping[str, Any] = document
    return found


def _rejudge_inputs(document: dict[str, Any]) -> dict[str, Any]:
    """Judge again what `reinstate memory-as-input` gathered."""
    rows = _renewed(document["experiments"])
    return {**document, "experiments": rows, "checks": judged(rows), "rejudged": _judge()}


def _judge() -> JudgedBy:
    program = provenance()
    return {"version": program["version"], "commit": program["commit"]}


def rejudge(measured: Recorded, file: Path = Path("results.json")) -> Results:
    """Return the same results with this version's optima, intervals, verdicts, and its name."""
    experiment = find_experiment(measured["experiment"])
    # Of the settings the task alone matters: an earlier version may have had others beside it.
    known = completed(experiment.world, measured["settings"]).get("task")
    task = from_dict(experiment.world, known, "settings.task")
    optimum = if_solvable(lambda: optimum_of(experiment, task))

    def again() -> Results:
        renewed: Any = {name: _renewed(measured[name]) for name in ("agents", "baselines")}
        new: Any = {**measured, **renewed, "optimum": optimum, "rejudged": _judge()}
        return conclude(experiment, new)

    return as_recorded(file, again)


def as_recorded(file: Path, judge: Callable[[], T]) -> T:
    """Judge what a file recorded; what its claims are about may be missing in it.

    Which numbers that are, and of what shape, only the experiment knows; it may be another
    package's. Results that are made here are not judged by way of this.
    """
    try:
        return judge()
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        said = f"{type(error).__name__}: {one_line(error)[:200]}"
        raise UserError(
            f"{file} lacks numbers that its claims are about, or has others instead ({said}):"
            " name results as reinstate reproduce left them"
        ) from error


def _renewed(value: Any) -> Any:
    """Make every summary in a value again, however deep, from what it summarises."""
    if isinstance(value, list):
        # Of numbers there are many, and nothing in them to renew.
        return [_renewed(each) for each in value] if _any_dict(value) else value
    if not isinstance(value, dict):
        return value
    if "t" in value and value.keys() & {"per_participant", "per_seed"}:
        return _weight(value)
    if "per_seed" in value:
        kept = {name: each for name, each in value.items() if name != "iqm"}  # of earlier versions
        return {**kept, **without_nan(over_seeds(value["per_seed"], value.get("error")))}
    if "per_participant" in value:
        return {**value, **over_each_cell(value["per_participant"])}
    return {RENAMED.get(name, name): _renewed(each) for name, each in value.items()}


def _any_dict(values: list[Any]) -> bool:
    return any(isinstance(each, dict) for each in values)


def _weight(old: dict[str, Any]) -> dict[str, Any]:
    """Weights of the choice model have a t-test beside their interval."""
    values = per_participant(old)
    kept = {name: each for name, each in old.items() if name != "per_seed"}  # its earlier name
    if old["t"] is None:  # a learning rate is not tested against 0, nor may its interval leave 0…1
        return {**kept, "per_participant": values}
    return {**kept, **t_test(values)}
