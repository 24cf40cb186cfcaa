"""Recorded results that tests of the page start from."""

import copy
import json
from pathlib import Path
from typing import Any

from reinstate.report import load, page_of

RESULTS = Path(__file__).parents[2] / "results"
COMPOSITIONAL = json.loads((RESULTS / "compositional-bandits/results.json").read_text())
BARCODES = json.loads((RESULTS / "barcode-bandits/results.json").read_text())


def small() -> dict[str, Any]:
    """Recorded results of two agents and two baselines."""
    results = copy.deepcopy(BARCODES)
    results["agents"] = {name: results["agents"][name] for name in ("epl2rl", "l2rl")}
    names = ("gittins", "gittins with memory")
    results["baselines"] = {name: results["baselines"][name] for name in names}
    return results


def page_from(folder: Path, results: Any) -> str:
    (folder / "results.json").write_text(json.dumps(results))
    return page_of(load([folder]))
