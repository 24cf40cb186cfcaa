"""Every claim of every experiment can be supported, contradicted and left undecided by numbers.

What was recorded seed by seed is replaced, one summary at a time, by all kinds of other numbers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reinstate_paper
from made_up import judged
from reinstate.files import read_json
from reinstate.runs.experiment import EXPERIMENTS, Check

RESULTS = Path(__file__).parents[2] / "results"
SEEDS = "per_seed", "per_participant"


def summaries(values: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Find everything that is recorded seed by seed, and under which name."""
    for name, value in values.items() if isinstance(values, dict) else ():
        if name in SEEDS and np.ndim(value) < 3:
            yield values, name
        else:
            yield from summaries(value)


def others(recorded: np.ndarray) -> Iterator[np.ndarray]:
    """Make other numbers of as many seeds, close about a value or far apart.

    In one column alone; or in all of them, each a share of the one before.
    """
    largest, random = np.abs(recorded).max() or 1.0, np.random.default_rng(0)
    near = random.permutation(np.linspace(-1, 1, len(recorded)))
    for centre in random.permutation(np.linspace(-3, 3, 180)) * largest:
        for spread in (1e-4, 0.2, 1.0):
            values = centre + spread * largest * near
            for column in np.ndindex(recorded.shape[1:]):
                found = recorded.copy()
                found[:, *column] = values
                yield found
            for share in (0.1, 0.7, 1.0) if recorded.ndim == 2 else ():
                yield values[:, None] * share ** np.arange(recorded.shape[1])


@pytest.mark.parametrize("name", reinstate_paper.PAPER_EXPERIMENTS)
def test_numbers_decide_every_claim_either_way_or_not_at_all(name: str) -> None:
    recorded, checks = read_json(RESULTS / name / "results.json"), EXPERIMENTS[name].checks

    def claimed() -> list[Check]:
        return checks(recorded["agents"], recorded["optimum"], recorded["baselines"])

    verdicts = {claim: {verdict} for claim, verdict in judged(claimed()).items()}
    as_recorded = claimed()
    for summary, seeds in list(summaries(recorded["agents"])):
        before = summary[seeds]
        summary[seeds] = np.full(np.shape(before), 0.123).tolist()
        pairs = zip(as_recorded, claimed(), strict=True)
        about = [old.claim for old, new in pairs if old.evidence != new.evidence]
        for other in others(np.array(before, float)):
            if all(len(verdicts[claim]) == 3 for claim in about):
                break
            summary[seeds] = other.tolist()
            for claim, verdict in judged(claimed()).items():
                verdicts[claim].add(verdict)
        summary[seeds] = before
    assert verdicts and {claim: found for claim, found in verdicts.items() if len(found) < 3} == {}
