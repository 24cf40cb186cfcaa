"""What a user names → documents for the page.

A folder that holds results is one section, agents and runs join others of their experiment, and a
folder of such folders stands for all of them. No link in it is followed.
"""

from collections.abc import Sequence
from pathlib import Path

from reinstate.analysis.results import Recorded, Results, results_file
from reinstate.errors import UserError
from reinstate.figures.page.sources import Document, load_results, load_runs
from reinstate.files import read_document
from reinstate.runs.conclusions import why_apart
from reinstate.runs.experiment import EXPERIMENTS, find_experiment
from reinstate.runs.run import Run, open_run


def load(paths: Sequence[Path]) -> list[Document]:
    """Read documents in the order named; what belongs together is in the first's place."""
    groups: list[list[Path]] = []
    for path in (each for named in paths for each in _expanded(named)):
        if group := next((each for each in groups if _fits(path, each)), None):
            group.append(path)
        else:
            groups.append([path])
    return [load_runs(each) if Run(each[0]).exists else load_results(*each) for each in groups]


def _fits(path: Path, group: Sequence[Path]) -> bool:
    """Tell whether a run is of the same experiment, or results of the same but other agents."""
    if Run(path).exists or Run(group[0]).exists:
        both = Run(path).exists and Run(group[0]).exists
        return both and open_run(path).experiment == open_run(group[0]).experiment
    own, *others = (read_document(Recorded, results_file(each)[0]) for each in (path, *group))
    return all(why_apart(own, other) is None for other in others)


def results_in(paths: Sequence[Path]) -> list[Results]:
    """Read the results of experiments in these folders."""
    return [document.results for document in load(paths)]


def _expanded(path: Path) -> list[Path]:
    """Return the path itself, or of a folder of folders what is in it."""
    if not path.is_dir() or _is_part(path):
        return [path]
    try:
        inside = [each for each in path.iterdir() if each.is_dir() and not each.is_symlink()]
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    folders = sorted(inside, key=_section)
    if not (found := [each for each in folders if _is_part(each)]):
        raise UserError(
            f"{path} holds neither results.json nor a run: name a folder that reinstate reproduce"
            " or train left"
        )
    return found


def _section(folder: Path) -> tuple[str, str]:
    """Order folders as the paper does; those that are no experiment's come last."""
    known = folder.name in EXPERIMENTS
    return (find_experiment(folder.name).section if known else "~"), folder.name


def _is_part(folder: Path) -> bool:
    return (folder / "results.json").exists() or Run(folder).exists
