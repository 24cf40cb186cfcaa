"""Recorded results say what the rules of this version make of their seeds."""

from typing import Any

import pytest

from reinstate.runs.provenance import provenance
from reinstate.runs.rejudge import rejudge
from runs.test_rejudge import RECORDED, assert_alike, recorded, spoilt


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_results_follow_the_rules_of_this_version(name: str) -> None:
    """If not: reinstate rejudge results/EXPERIMENT, then make readme."""
    document = recorded(name)
    parts = {part: spoilt(document[part]) for part in ("agents", "baselines")}
    found: Any = rejudge(document | parts | {"checks": []})
    by = provenance()
    assert found.pop("rejudged") == {"version": by["version"], "commit": by["commit"]}
    document.pop("rejudged", None)
    assert_alike(found, document)
