"""Charts of familiarity and elimination are made of what results.json holds."""

import json
from typing import Any

from reinstate.analysis.verdicts import over_seeds
from reinstate.figures.learning import CANNOT_TELL, elimination, familiarity


def document(**agents: Any) -> Any:
    return json.loads(json.dumps({"agents": agents}))


def a_signal(*areas: float) -> dict[str, Any]:
    mean = sum(areas) / len(areas)
    return {"auc": over_seeds([*areas]), "auc_by_exposure": [mean, None], "roc": [0.4, mean, 1]}


MEMORY: dict[str, dict[str, Any]] = {
    "familiarity": {
        "false_alarms": [0, 0.5, 1],
        "similarity": a_signal(0.9, 1.0),
        "r_gate": a_signal(0.5, 0.75),
    },
    "elimination": {
        "taken": over_seeds([[0, 0.5, 0.9], [0, 0.5, 0.1]]),
        "cannot_tell": [0, 0.25, 0.5],
        "recalled": over_seeds([0.1, 0.2]),
    },
}
PLAIN = {"elimination": {"taken": over_seeds([[0, 0.25, 0.5]]), "cannot_tell": [0, 0.25, 0.5]}}


def test_every_signal_of_every_agent_is_a_line_from_the_corner() -> None:
    roc, areas = familiarity(document(epl2rl=MEMORY, l2rl=PLAIN))
    names = ["epL2RL, similarity (AUC 0.95)", "epL2RL, r-gate (AUC 0.62)"]
    for chart in (roc, areas):  # alike in both, so that a legend for both says it once
        assert [s.label for s in chart.series] == names
        assert [bool(s.dash) for s in chart.series] == [True, False]
        assert chart.series[0].width > chart.series[1].width
    assert [list(s.x) for s in roc.series] == [[0, 0, 0.5, 1]] * 2
    assert [list(s.y) for s in roc.series] == [[0, 0.4, 0.95, 1], [0, 0.4, 0.625, 1]]
    assert roc.diagonal and roc.x_range == roc.y_range
    assert [list(s.x) for s in areas.series] == [[2, 3]] * 2
    assert list(areas.series[1].y) == [0.625, None]
    assert areas.lines == [("chance", 0.5)]


def test_first_pulls_beside_a_player_who_cannot_tell() -> None:
    (chart,) = elimination(document(epl2rl=MEMORY, l2rl=PLAIN))
    assert {s.name: list(s.y) for s in chart.series} == {
        "epL2RL": [0, 0.5, 0.5],
        "L2RL": [0, 0.25, 0.5],
        CANNOT_TELL: [0, 0.25, 0.5],
    }
    assert [list(s.x) for s in chart.series] == [[0, 1, 2]] * 3
    # Student's interval of .9 and .1 is [−4.6, 5.6].
    assert list(chart.series[0].ci95) == [(0, 0), (0.5, 0.5), (0, 1)]


def test_nothing_is_drawn_of_results_without_them() -> None:
    older = document(epl2rl={"reward": over_seeds([1.0])})
    assert familiarity(older) == [] and elimination(older) == []
    unknown = {**MEMORY["familiarity"]["r_gate"], "auc": None}
    scores = {"false_alarms": [0, 0.5, 1], "r_gate": unknown}
    assert familiarity(document(epl2rl={"familiarity": scores})) == []
    only = document(epl2rl={"elimination": {"cannot_tell": [0, 1]}})
    assert elimination(only) == []
