"""Charts of choices, of searches, of ways through a maze, and of familiarity and elimination."""

from typing import Any

import numpy as np

from figures.test_builders import document, lines_of
from reinstate.analysis.verdicts import over_seeds
from reinstate.figures import choices
from reinstate.figures.learning import CANNOT_TELL, elimination, familiarity
from reinstate.figures.mazes import trajectories
from reinstate.runs.search import search_panels

# Choices


def weights(values: Any) -> dict[str, Any]:
    """A summary as fits of choices hold it: what others call seeds are participants."""
    found: dict[str, Any] = {**over_seeds(values)}
    return {"per_participant": found.pop("per_seed"), **found}


def test_choice_weights_of_agents_side_by_side() -> None:
    group = {"uncued": {"IMF": weights([0.1, 0.3]), "IMB": weights([1.0, 3.0])}}
    agents = {name: {"choices": {"group": group}} for name in ("epl2rl", "l2rl")}
    (chart,) = choices.choice_weights(document(agents))
    assert chart.of == "uncued episodes" and chart.lines == [("", 0.0)]
    assert list(chart.categories) == ["IMF", "IMB", "bias", "persev."]
    assert lines_of(chart) == {"epL2RL": [0.2, 2.0], "L2RL": [0.2, 2.0]}
    assert chart.series[1].per_seed == [(0.1, 1.0), (0.3, 3.0)]


def test_stay_probabilities_with_a_point_per_participant() -> None:
    people = [[0.9, 0.2, None, 0.8], [0.7, 0.4, 0.3, 0.6]]  # the first never met the third
    panel = {"mean": [0.8, 0.3, 0.3, 0.7], "ci95": [[0.7, 0.9], [0.2, 0.4], None, [0.6, 0.8]]}
    stay = {"episodic": {**panel, "per_participant": people}}
    (chart,) = choices.stay(document({"epl2rl": {"choices": {"stay": stay}}}))
    own, companion = chart.series
    assert own.per_seed == people and own.ci95 == [(0.7, 0.9), (0.2, 0.4), None, (0.6, 0.8)]
    assert chart.of == "cued episode" and list(companion.y) == [0.84, 0.30, 0.35, 0.72]


def a_milestone(epoch: int, weight: float) -> dict[str, Any]:
    names = ("IMF", "IMB", "EMF", "EMB")
    cued = {n: weights(i * weight + np.array([-0.1, 0.1])) for i, n in enumerate(names)}
    return {"epoch": epoch, "weights": {"cued": cued}}


def test_weights_while_an_agent_learns() -> None:
    agent = {"milestones": [a_milestone(5, 0.1), a_milestone(100, 0.5)]}
    agents = {"epl2rl": {**agent, "r_gate": over_seeds([0.2])}, "l2rl": agent}
    (chart,) = choices.weights_in_training(document(agents))  # L2RL recalls nothing
    assert lines_of(chart) == {"IMF": [0, 0], "IMB": [0.1, 0.5], "EMF": [0.2, 1], "EMB": [0.3, 1.5]}
    assert np.round(np.array(chart.series[3].per_seed, float), 6).tolist() == [
        [0.2, 1.4],
        [0.4, 1.6],
    ]
    classic = {"milestones": [{"epoch": 5, "weights": {}}], "r_gate": over_seeds([0.2])}
    assert choices.weights_in_training(document({"epl2rl": classic})) == []


# Search and mazes


def test_searches_mark_the_preset_the_best_and_what_failed() -> None:
    def trial(number: int, rate: float, discount: float, *rewards: float | None) -> dict[str, Any]:
        setting = {"learning_rate": rate, "entropy_cost": 0.1, "discount": discount}
        agents = dict(zip(("l2rl", "epl2rl"), ({"reward": r} for r in rewards), strict=False))
        return {"number": number, "setting": {**setting, "value_cost": 0.5}, "agents": agents}

    trials = [trial(0, 0.01, 0.8, 1.0, 2.0), trial(1, 0.1, 0.9, None), trial(2, 0.001, 0.8, 3.0)]
    found: Any = {"trials": trials, "agent": "l2rl"}
    rate, _, discount, _ = search_panels(found)
    assert rate.log_x and lines_of(rate) == {
        "L2RL": [1.0, 3.0],
        "epL2RL": [2.0],
        "best for L2RL": [3.0],
        "preset": [1.0, 2.0],
        "failed": [None],
    }
    assert list(rate.series[-1].x) == [0.1]
    assert list(discount.series[0].x) == [0.8, 0.8]
    assert rate.y_range == discount.y_range


def test_trajectories_are_of_epl2rl_or_else_of_the_first_agent() -> None:
    def agent(goal: int) -> dict[str, Any]:
        return {"maze": {"trajectories": [{"goal": goal, "first": [0, 1], "second": [0]}]}}

    agents = {"l2rl": agent(1), "epl2rl": agent(2)}
    settings = {"task": {"height": 2, "width": 3}}
    (drawing,) = trajectories(document(agents, settings=settings))
    assert (drawing.height, drawing.width, drawing.pairs[0]["goal"]) == (2, 3, 2)
    del agents["epl2rl"]
    (drawing,) = trajectories(document(agents, settings=settings))
    assert drawing.pairs[0]["goal"] == 1


# Familiarity and elimination


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
    roc, areas = familiarity(document({"epl2rl": MEMORY, "l2rl": PLAIN}))
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
    (chart,) = elimination(document({"epl2rl": MEMORY, "l2rl": PLAIN}))
    assert {s.name: list(s.y) for s in chart.series} == {
        "epL2RL": [0, 0.5, 0.5],
        "L2RL": [0, 0.25, 0.5],
        CANNOT_TELL: [0, 0.25, 0.5],
    }
    assert [list(s.x) for s in chart.series] == [[0, 1, 2]] * 3
    # Student's interval of .9 and .1 is [−4.6, 5.6].
    assert list(chart.series[0].ci95) == [(0, 0), (0.5, 0.5), (0, 1)]


def test_nothing_is_drawn_of_results_without_them() -> None:
    older = document({"epl2rl": {"reward": over_seeds([1.0])}})
    assert familiarity(older) == [] and elimination(older) == []
    unknown = {**MEMORY["familiarity"]["r_gate"], "auc": None}
    scores = {"false_alarms": [0, 0.5, 1], "r_gate": unknown}
    assert familiarity(document({"epl2rl": {"familiarity": scores}})) == []
    only = document({"epl2rl": {"elimination": {"cannot_tell": [0, 1]}}})
    assert elimination(only) == []
