"""Learned values, against the recursion, one-back choices, and agents with known rates."""

import numpy as np
import pytest

from reference.choices import MIXTURE, numeric_hessian, slow_log_likelihood
from reinstate.choices.fits import fit_choices
from reinstate.choices.likelihood import (
    FittedEpisodes,
    fit_learned,
    fit_weights,
    group_learned,
    running_values,
    select_episodes,
)
from reinstate.choices.model import (
    NAMES,
    Choices,
    Floats,
    GroupedChoices,
    count_choices,
    group_one_back,
    join_choices,
    link_episodes,
    simulate,
)


def slow_values(choices: Choices, alpha: float) -> list[tuple[float, float]]:
    """Q and V by the definition: differences after each episode."""
    found, last = [], None
    for row in zip(*[column.tolist() for column in choices], strict=True):
        _, session, _, _, _, action, state, reward = row
        if session != last:
            q, v, last = [0.0, 0.0], [0.0, 0.0], session
        rho = 2 * reward - 1
        for values, taken in ((q, action), (v, state)):
            values[taken] += alpha * (rho - values[taken])
            values[1 - taken] *= 1 - alpha
        found.append((q[0] - q[1], v[0] - v[1]))
    return found


@pytest.mark.parametrize("alpha", [0.05, 0.4, 1.0])
def test_running_values_are_those_of_the_recursion(alpha: float) -> None:
    choices = simulate({}, sessions=4, episodes=12, seed=6)
    linked = link_episodes(choices)
    sign, state_sign = 1.0 - 2 * choices.action, 1.0 - 2 * choices.state
    rho = 2.0 * choices.reward - 1
    fast = [running_values(rho * s, linked.first, alpha) for s in (sign, state_sign)]
    np.testing.assert_allclose(np.transpose(fast), slow_values(choices, alpha), atol=1e-12)


def of_second(choices: Choices, part: str) -> FittedEpisodes:
    """The choices as those of a second participant, so that rows do not start at 0."""
    first = simulate({}, sessions=2, episodes=10, seed=9)
    return select_episodes(link_episodes(join_choices([first, choices])), 1, part)


@pytest.mark.parametrize("part", ["uncued", "cued"])
def test_a_learning_rate_of_one_is_one_back(part: str) -> None:
    choices = simulate(MIXTURE, sessions=6, seed=7)
    back = fit_weights(group_one_back(count_choices(choices)[0], part), NAMES[part])
    data: GroupedChoices = group_learned(of_second(choices, part), NAMES[part], 1.0)
    same = fit_weights(data, NAMES[part])
    np.testing.assert_allclose(same.estimate, back.estimate, atol=1e-6)
    assert same.log_likelihood == pytest.approx(back.log_likelihood)


def test_learned_values_come_back_with_their_learning_rate() -> None:
    weights = {"IMF": 1.0, "IMB": 2.0, "EMB": 1.0, "perseveration": 0.3}
    data = of_second(simulate(weights, sessions=40, seed=8, alpha=0.5), "cued")
    found = fit_learned(data, NAMES["cued"])
    assert found.alpha is not None and found.alpha.se is not None
    assert abs(found.alpha.estimate - 0.5) < 2 * found.alpha.se < 0.2
    truth = np.array([weights.get(name, 0.0) for name in found.names])
    assert (np.abs(found.estimate - truth) < 2.5 * found.se).all()
    assert found.parameters == 7

    def surface(theta: Floats) -> float:
        x, chosen, _ = group_learned(data, found.names, float(theta[-1]))
        return -slow_log_likelihood(theta[:-1], x, chosen)

    top = np.append(found.estimate, found.alpha.estimate)
    joint = np.linalg.inv(numeric_hessian(surface, top))
    assert found.alpha.se == pytest.approx(joint[-1, -1] ** 0.5, rel=0.03)
    np.testing.assert_allclose(found.se, np.sqrt(np.diag(joint))[:-1], rtol=0.03)


def test_the_learning_rate_of_one_back_choices_is_one() -> None:
    document = fit_choices(simulate({"IMB": 2}, sessions=10, seed=1), "learned")
    (uncued, _) = [row for row in document["rows"] if row["strategy"] == "alpha"]
    assert uncued["estimate"] > 0.95
    assert uncued["high"] is None or uncued["high"] <= 1
