"""Recorded results, judged again from the numbers of their single seeds.

What was measured stays as it is. Intervals, shares of ceilings and checks are made by the rules of
this version, which may not be those of the version that recorded them.
"""

from pathlib import Path
from typing import Any

from reinstate.analysis.intervals import over_seeds, without_nan
from reinstate.analysis.results import Results, read_document
from reinstate.choices.participants import t_test
from reinstate.choices.stay import over_each_cell
from reinstate.experiments import find_experiment
from reinstate.files import write_json
from reinstate.runs.provenance import provenance
from reinstate.runs.reproduce import add_shares, checks_of, draw


def rejudge_file(path: Path) -> Results:
    """Rewrite a results.json (or the one in a folder) and redraw the figures beside it.

    A file of any other name is rewritten alone: figures have the names of a reproduction's.
    """
    file = path / "results.json" if path.is_dir() else path
    document = rejudge(read_document(Results, file))
    if file.name == "results.json":
        draw(find_experiment(document["experiment"]), document, file.parent)
    write_json(file, document)  # last, as in a reproduction
    return document


def rejudge(document: Results) -> Results:
    """Return the same results with this version's intervals, shares and checks, and its name."""
    experiment = find_experiment(document["experiment"])
    agents, baselines = (_renewed(document[name]) for name in ("agents", "baselines"))
    optimum, program = document["optimum"], provenance()
    add_shares(experiment, agents, optimum)
    return {
        **document,
        "agents": agents,
        "baselines": baselines,
        "checks": checks_of(experiment, agents, optimum, baselines),
        "rejudged": {"version": program["version"], "commit": program["commit"]},
    }


def _renewed(value: Any) -> Any:
    """Make every summary in a value again, however deep, from what it summarises."""
    if isinstance(value, list):
        # Of numbers there are many, and nothing in them to renew.
        return [_renewed(each) for each in value] if _any_dict(value) else value
    if not isinstance(value, dict):
        return value
    if "per_seed" in value:
        return _summary(value)
    if "per_participant" in value:
        return {**value, **over_each_cell(value["per_participant"])}
    return {name: _renewed(each) for name, each in value.items()}


def _any_dict(values: list[Any]) -> bool:
    return any(isinstance(each, dict) for each in values)


def _summary(old: dict[str, Any]) -> dict[str, Any]:
    """Weights of the choice model keep the t-interval that stands beside their t-test."""
    if "t" not in old:
        return {**old, **without_nan(over_seeds(old["per_seed"]))}
    # A learning rate is not tested against 0, and its interval is cut where it cannot be.
    return old if old["t"] is None else {**old, **t_test(old["per_seed"])}
