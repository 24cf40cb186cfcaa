"""README: its examples run, and its tables say what happened."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from readme_tables import results_table, trained_before

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize(("train", "words"), [(29.5, "40 s in all"), (20.0, "10 s of training be")])
def test_a_table_says_that_it_was_interrupted(train: float, words: str) -> None:
    results = json.loads((ROOT / "results/barcode-bandits/results.json").read_text())
    agents = results["agents"]
    agents["epl2rl"] |= {"train_steps": 1e9, "steps_per_second": 1e8}  # 10 s, and 20 for the rest
    for name in agents.keys() - {"epl2rl"}:
        agents[name] |= {"train_steps": 2e9, "steps_per_second": 3e8}
    results["seconds"] = {"total": 40.0, "train": train}
    assert trained_before(results) == pytest.approx(30 - train)
    assert words in results_table(results)


def test_the_example_runs_and_recalls() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, np.ndarray] = {}
    exec(code, names)
    first, again = np.asarray(names["first"]), np.asarray(names["again"])
    assert first.shape == (10, 32)
    assert np.abs(first - again).max() > 1e-3  # same inputs: only the recalled state differs
    assert 0 < np.asarray(names["r_gate"]).mean() < 1
