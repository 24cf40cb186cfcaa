"""Recorded results that tests of the page start from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reinstate.figures.page import Document, page_of
from reinstate.figures.page.documents import FACTS, Origin
from reinstate.runs.conclusions import read_results
from reinstate.runs.experiment import find_experiment

EVIL = "<script>alert('&amp;\"')</script>"

RESULTS = Path(__file__).parents[2] / "results"
COMPOSITIONAL: Any = read_results(RESULTS / "compositional-bandits")
BARCODES: Any = read_results(RESULTS / "barcode-bandits")


def short(document: Any) -> Any:
    """Cut every list to its first entries: a page of it is made in no time."""
    if isinstance(document, dict):
        return {name: short(each) for name, each in document.items()}
    return [short(each) for each in document[:5]] if isinstance(document, list) else document


def small() -> dict[str, Any]:
    """The beginning of recorded results, of two agents and two baselines."""
    results: dict[str, Any] = short(BARCODES)
    results["agents"] = {name: results["agents"][name] for name in ("epl2rl", "l2rl")}
    names = ("gittins", "gittins with memory")
    results["baselines"] = {name: results["baselines"][name] for name in names}
    return results


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something could be wrong in a document; of lists, only the first entries."""
    yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from places(each, (*path, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def page_from(*documents: Any) -> str:
    """The page of these results, whatever was concluded from them."""
    return page_of([_document(each) for each in documents])


def _document(results: Any) -> Document:
    facts = {"name": "results", **{name: results.get(name) for name in FACTS}}
    origin = Origin("", results["settings"], facts)
    return Document(Path("results.json"), find_experiment(results["experiment"]), results, [origin])
