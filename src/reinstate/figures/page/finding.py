"""What a user names → what the page shows of it, told by what is in it.

A folder that holds results is one section, a run joins others of its experiment, and a folder of
such folders stands for all of them. Of a folder of folders only inputs.json is read besides, and in
those without results small JSON files that are cards of an embedder. No link in it is followed.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reinstate.analysis.results import Recorded, Results, results_file
from reinstate.errors import UserError
from reinstate.figures.page.sources import Document, load_results, load_runs
from reinstate.files import read_document, read_json
from reinstate.runs.conclusions import why_apart
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.run import Run, open_run
from reinstate_paper.embedder_page import Embedder, load_embedder_card
from reinstate_paper.inputs_page import Inputs, load_inputs

RESULTS, INPUTS, CARD = "results.json", "inputs.json", "card.json"
LARGEST_CARD = 1_000_000  # bytes; ours have some thousands
MOST_FILES = 50  # of a folder, that are looked at

Part = Document | Inputs | Embedder


def load(paths: Sequence[Path]) -> list[Part]:
    """Read parts in the order named; runs of one experiment are together in the first's place."""
    parts: list[Part | str | list[Path]] = []
    runs: dict[str, list[Path]] = {}
    for path in (each for named in paths for each in _expanded(named)):
        if path.is_dir() and (path / CARD).exists():
            parts.append(load_embedder_card(path / CARD, path))
        elif Run(path).exists:
            name = open_run(path).experiment.name
            if name not in runs:
                parts.append(name)
            runs.setdefault(name, []).append(path)
        else:
            _add_document(parts, path)
    return [_loaded(each, runs) for each in parts]


def _loaded(found: Part | str | list[Path], runs: Mapping[str, Sequence[Path]]) -> Part:
    if isinstance(found, list):
        return load_results(*found)
    return load_runs(runs[found]) if isinstance(found, str) else found


def _add_document(parts: list[Part | str | list[Path]], path: Path) -> None:
    """Add a document by what it says it is; results join earlier ones, where they can."""
    file, _ = results_file(path)
    found = read_json(file)
    if _is_card(found):
        parts.append(load_embedder_card(file))
    elif isinstance(found, dict) and "experiments" in found and "totals" not in found:
        parts.append(load_inputs(file))
    else:
        groups = [each for each in parts if isinstance(each, list)]
        together = (group for group in groups if _fits(path, group))
        if group := next(together, None):
            group.append(path)
        else:
            parts.append([path])


def _fits(path: Path, group: Sequence[Path]) -> bool:
    own, *others = (read_document(Recorded, results_file(each)[0]) for each in (path, *group))
    return all(why_apart(own, other) is None for other in others)


def results_in(paths: Sequence[Path]) -> list[Results]:
    """Read all results of experiments in these folders, and nothing else."""
    return [part.results for part in load(paths) if isinstance(part, Document)]


def _is_card(found: object) -> bool:
    return isinstance(found, dict) and "few_shot" in found


def _expanded(path: Path) -> list[Path]:
    """Return the path itself, or of a folder of folders what is in it."""
    if not path.is_dir() or _is_part(path):
        return [path]
    cards = list(_cards(path))
    if cards:
        return cards
    folders = sorted(each for each in _within(path) if each.is_dir())
    known = list(EXPERIMENTS)
    folders.sort(key=lambda each: known.index(each.name) if each.name in known else len(known))
    inputs = [each for each in _within(path) if each.name == INPUTS]
    parts = [each for each in folders if _is_part(each)]
    others = [card for each in folders if not _is_part(each) for card in _cards(each)]
    if not (found := [*parts, *inputs, *others]):
        raise UserError(
            f"{path} holds neither results.json nor a run: name a folder that reinstate reproduce"
            " or train left"
        )
    return found


def _is_part(folder: Path) -> bool:
    return any((folder / name).exists() for name in (RESULTS, CARD)) or Run(folder).exists


def _within(folder: Path) -> Iterator[Path]:
    try:
        yield from (each for each in sorted(folder.iterdir()) if not each.is_symlink())
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}") from None


def _cards(folder: Path) -> Iterator[Path]:
    """Yield the cards of embedders among a folder's files."""
    files = [each for each in _within(folder) if each.suffix == ".json" and each.is_file()]
    for path in files[:MOST_FILES]:
        if path.stat().st_size <= LARGEST_CARD and _is_card(read_json(path)):
            yield path
