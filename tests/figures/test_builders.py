"""Charts are made of what results.json holds, and of nothing else."""

import json
import math
from itertools import pairwise
from typing import Any

import pytest

from reinstate import registry
from reinstate.agent import AGENTS, Maker
from reinstate.analysis.verdicts import over_seeds
from reinstate.figures import exposures, style
from reinstate.figures.chart import Chart, Series
from reinstate.figures.learning import training_curves


def document(agents: dict[str, Any], **parts: Any) -> Any:
    """Make results of the parts that matter, as a file would hold them."""
    empty: dict[str, Any] = {"baselines": {}, "optimum": {}, "reference_lines": {}, "settings": {}}
    return json.loads(json.dumps({**empty, **parts, "agents": agents}))


def lines_of(chart: Chart) -> dict[str, list[float | None]]:
    return {s.name: [y if y is None else round(y, 6) for y in s.y] for s in chart.series}


def in_legend(chart: Chart) -> list[str]:
    return [s.label for s in chart.series if s.in_legend]


# Learning


def an_agent(*rewards: list[float], frozen: float = 1.25) -> dict[str, Any]:
    curve = {"episodes": [6, 12, 18], "steps": [72, 144, 216], "reward": over_seeds([*rewards])}
    return {"curve": curve, "reward": over_seeds([frozen])}


def test_training_curves_are_the_means_and_the_seeds() -> None:
    agents = {
        "epl2rl": an_agent([0.5, 1, 2], [0.7, 1, 2.4]),
        "l2rl": an_agent([0.5, 0.6, 0.9], frozen=0.63149),
        "my-own": {"reward": over_seeds([1.0])},  # no curve
    }
    (chart,) = training_curves(document(agents, reference_lines={"best": 2.5, "odd": None}))
    memory, plain = chart.series
    assert lines_of(chart) == {"epL2RL": [0.6, 1, 2.2], "L2RL": [0.5, 0.6, 0.9]}
    assert memory.per_seed == [[0.5, 1, 2], [0.7, 1, 2.4]]
    assert list(memory.x) == [36, 72, 108]  # of one of two seeds
    assert list(plain.x) == [72, 144, 216] and chart.x_label == "environment steps"
    # Student's t: 12.706 for two seeds, times half of their difference.
    assert memory.ci95[2] == pytest.approx((2.2 - 12.706205 * 0.2, 2.2 + 12.706205 * 0.2))
    assert not any(plain.ci95)
    assert in_legend(chart) == ["epL2RL (1.25 frozen)", "L2RL (0.631 frozen)"]
    assert chart.lines == [("best", 2.5)] and chart.y_label == "reward per episode"
    assert training_curves(document({"l2rl": {"reward": over_seeds([1.0])}})) == []


def learned(rewards: list[float], steps: float = 1e6) -> dict[str, Any]:
    points = len(rewards)
    curve = {"steps": [steps * (n + 1) for n in range(points)], "reward": over_seeds([rewards])}
    return {"curve": curve, "train_steps": steps * points, "reward": over_seeds([1.0])}


def test_long_curves_have_a_logarithmic_axis() -> None:
    early = [0.0, 0.9, *[1.0] * 38]
    (chart,) = training_curves(document({"epl2rl": learned(early), "l2rl": learned(early)}))
    assert chart.log_x and chart.x_label == "environment steps (millions), log scale"
    assert chart.x_range == pytest.approx((0, math.log10(40)))  # not from a hundredth of a step
    (chart,) = training_curves(document({"l2rl": learned(early[:10], 100.0)}))
    assert not chart.log_x and chart.x_label == "environment steps"


def test_where_recall_is_switched_on_is_marked() -> None:
    early = [0.0, 0.9, *[1.0] * 38]
    settings = {"learner": {"recall_from": 0.25}}
    agents: dict[str, Any] = {"epl2rl": learned(early)}
    (chart,) = training_curves(document(agents, settings=settings))
    assert chart.marks == [("recall on", 10.0)]
    assert not chart.log_x  # it would squeeze what comes after
    del agents["epl2rl"]["train_steps"]  # a run that has not ended: a quarter of what is not known
    (chart,) = training_curves(document(agents, settings=settings))
    assert not chart.marks
    (chart,) = training_curves(document(agents, settings={"learner": {"recall_from": 0.0}}))
    assert not chart.marks


# Names and colours


def test_every_agent_of_ours_has_its_label_and_its_colour() -> None:
    shown = {(style.label(name), style.colour(name)) for name in AGENTS}
    assert len(shown) == len({label for label, _ in shown}) == len(AGENTS)
    assert len({colour for _, colour in shown if colour}) == len(AGENTS)
    assert style.label("epl2rl-input-4") == "epL2RL, memory as 4 inputs"


def test_agents_of_others_bring_their_own_or_get_spare_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs, odd = Maker(label="GRU with recall", colour="#123456"), Maker(colour="reddish")
    monkeypatch.setattr(registry, "_registered", {**registry._registered})
    monkeypatch.setitem(
        registry._registered, "agent", {**registry._registered["agent"], "gru": theirs, "odd": odd}
    )
    assert style.label("gru") == "GRU with recall" and style.label("odd") == "odd"
    names = ["epl2rl", "gru", "odd", "epL2RL (again)", "one", "two", "three", "four"]
    colours = style.palette(names)
    assert colours[:2] == [style.colour("epl2rl"), "#123456"]
    assert len(set(colours[:7])) == 7 and colours == style.palette(names)
    assert colours[2] in style.SPARE  # "reddish" is none that both renderers know


# By exposure


def by_exposure(*curves: list[float], seeds: Any = None) -> dict[str, Any]:
    ends = over_seeds(seeds) if seeds else over_seeds([[curve[-1] for curve in curves]])
    return {"by_exposure": {"regret_by_step": [*curves], "regret": ends}}


def test_regret_by_pull_with_one_line_per_exposure_beside_the_algorithms() -> None:
    agents = {
        "epl2rl": by_exposure(*([0.9 / e, 1.8 / e] for e in range(1, 8)),
                              seeds=[[1.8 / e - 0.1 for e in range(1, 8)], [1.9] * 7]),
        "l2rl": by_exposure([0.8, 1.5], [0.7, 1.4]),
    }  # fmt: skip
    rivals = {"ucb1": by_exposure([0.8, 1.6], [0.8, 1.4]), "random": by_exposure([0.9, 1.8])}
    memory, plain = exposures.regret(document(agents, baselines=rivals))
    assert [chart.of for chart in (memory, plain)] == ["epL2RL", "L2RL"]
    assert memory.y_range == plain.y_range  # to be compared
    assert lines_of(plain) == {
        "exposure 1": [0.8, 1.5],
        "exposure 2": [0.7, 1.4],
        "UCB": [0.8, 1.5],  # the mean over exposures: it does not remember
    }
    assert in_legend(memory) == ["exposure 1", "exposure 2", "exposure 7", "UCB"]
    assert len(memory.series) == 8  # the others lie between
    assert memory.series[1].per_seed == [[None, 0.8], [None, 1.9]]  # at the end of the line
    assert len({s.colour for s in memory.series}) == 8


def stimuli(memory: bool) -> dict[str, Any]:
    better, queried = by_exposure([0.3, 0.6], [0.2, 0.3]), by_exposure([0.3, 0.5], [0.2, 0.4])
    return {
        **better,
        "reward": over_seeds([1.5, 1.7]),
        "by_queried": queried["by_exposure"],
        "retrieval": over_seeds([0.9, 1.0]) if memory else None,
        "r_by_trial": [[0.3 * memory, 0.2 * memory], [0.3 * memory, None]],
    }


def test_stimuli_count_by_the_better_known_and_by_the_queried() -> None:
    agents = {"epl2rl": stimuli(memory=True), "l2rl-context": stimuli(memory=False)}
    optimum = {"without_memory": 1.4, "either_known": 1.8}
    results = document(agents, optimum=optimum)
    charts = exposures.regret(results)
    assert [chart.of for chart in charts] == [
        "epL2RL, by the better known",
        "epL2RL, by the queried",
        "L2RL+Context",
    ]
    assert lines_of(charts[1])["exposure 2"] == [0.2, 0.4]
    assert [(line.label, round(line.at, 6)) for line in charts[0].lines] == [
        ("least without memory", 0.4)  # 1.8 − 1.4
    ]
    known, queried = exposures.by_exposure(results)
    assert lines_of(known)["epL2RL"] == [0.6, 0.3] and lines_of(queried)["epL2RL"] == [0.5, 0.4]
    assert known.y_range == queried.y_range and "better known" in known.x_label


def test_steps_to_the_goal_beside_the_optimum() -> None:
    agents = {
        "epl2rl": {"maze": {"steps_or_end": over_seeds([[8, 3, 2], [6, 2, 2]])}},
        "l2rl": {"maze": {"steps_or_end": {"mean": [8, 8, None], "ci95": None}}},
    }
    optimum = {"steps_first_exposure": 5.5, "steps_goal_known": 1.75}
    (chart,) = exposures.steps_to_goal(document(agents, optimum=optimum))
    assert lines_of(chart) == {
        "epL2RL": [7, 2.5, 2],
        "L2RL": [8, 8, None],
        "optimum": [5.5, 1.75, 1.75],
    }
    assert in_legend(chart)[-1] == "optimum (5.50, 1.75)"
    asides = [chart.aside(i) for i in range(3)]
    assert asides[0] == -asides[1] < 0 and asides[2] == 0  # no agent hides another
    del optimum["steps_first_exposure"]  # of a maze too large to solve
    (chart,) = exposures.steps_to_goal(document(agents, optimum=optimum))
    assert lines_of(chart)["optimum"] == [None, 1.75, 1.75]
    (chart,) = exposures.steps_to_goal(document(agents, optimum={"unavailable": "too large"}))
    assert len(chart.series) == 2


def test_probes_stand_beside_the_agent_as_trained() -> None:
    agent = stimuli(memory=True)
    agent["probes"] = {"memory cleared": over_seeds([1.0, 1.2]), "other": over_seeds([1.1, 1.2])}
    lines = {"best with memory": 1.75, "chance": 1}
    agents = {"epl2rl": agent, "l2rl-context": stimuli(memory=False)}
    (chart,) = exposures.probes(document(agents, reference_lines=lines))
    assert list(chart.categories) == ["as trained", "memory cleared", "other"]
    assert lines_of(chart) == {"epL2RL": [1.6, 1.1, 1.15]}
    assert chart.series[0].per_seed == [(1.5, 1.0, 1.1), (1.7, 1.2, 1.2)]
    assert chart.lines == [("best with memory", 1.75)]  # chance would squeeze all else
    assert "Memory cleared: nothing comes back." in chart.note
    del agents["epl2rl"]
    assert exposures.probes(document(agents)) == []


# Gates


def test_gates_by_trial_get_thinner_with_each_exposure() -> None:
    agents = {"epl2rl": stimuli(memory=True), "l2rl-context": stimuli(memory=False)}
    (chart,) = exposures.gates(document(agents))  # the other has none, though zeros are recorded
    assert chart.of == "epL2RL"
    assert lines_of(chart) == {"exposure 1": [0.3, 0.2], "exposure 2": [0.3, None]}
    assert all(b.width < a.width for a, b in pairwise(chart.series))


def test_gates_through_the_epoch() -> None:
    gates: dict[str, Any] = {
        "stages": ["cue", "second stage", "outcome"],
        "over_epoch": [[0.1, 0.1, 0.3], [0.2, 0.2, 0.4], [0.3, 0.3, 0.5]],
        "over_epoch_ci95": [[[0.0, 0.2]] * 3] * 3,
        "first_cued": 2,
        "uncued": over_seeds([[0.1, 0.2, 0.4], [0.1, 0.2, 0.2]]),
        "cued": over_seeds([[0.2, 0.4, 0.5], [0.4, 0.4, 0.5]]),
    }
    chart, slopes = exposures.gates(document({"epl2rl": {"gates": gates}}))
    assert lines_of(chart) == dict(zip(gates["stages"], gates["over_epoch"], strict=True))
    assert [*chart.series[0].ci95] == [(0.0, 0.2)] * 3
    assert chart.marks == [("cued from here on", 2.5)]  # between the second episode and the third
    assert chart.series[2].per_seed == [
        [0.4, 0.4, None], [0.2, 0.2, None], [None, None, 0.5], [None, None, 0.5]
    ]  # fmt: skip
    assert slopes.paired and slopes.joined and [*slopes.categories] == ["uncued", "cued"] * 3
    assert lines_of(slopes) == {
        "cue": [0.1, 0.3],
        "second stage": [0.2, 0.4],
        "outcome": [0.3, 0.5],
    }
    assert [list(s.x) for s in slopes.series] == [[0, 1], [2, 3], [4, 5]]
    assert slopes.series[0].per_seed == [(0.1, 0.2), (0.1, 0.4)]  # a seed is a slope
    for name in ("first_cued", "cued"):  # the classic task
        del gates[name]
    (chart,) = exposures.gates(document({"epl2rl": {"gates": gates}}))
    assert not chart.marks and len(chart.series[0].per_seed) == 2


# The description itself


def test_axes_start_from_zero_unless_that_squeezes_everything() -> None:
    def y_range(*y: float) -> tuple[float, float]:
        return Chart("", "", "", [Series("a", "#000000", [0] * len(y), y)]).y_range

    assert y_range(1, 4)[0] == 0 and 3 < y_range(8, 9)[0] < 8 and y_range(-1, 4)[0] < -1
    assert y_range() == (0, 1.06) and y_range(0)[1] > 0
