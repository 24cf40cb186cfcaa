"""The choice model by its definition, an episode at a time."""

from typing import Any

import numpy as np

from reinstate.choices.model import Choices, Floats

MIXTURE = {"IMF": 0.4, "IMB": 1.0, "EMF": -0.3, "EMB": 1.5, "bias": 0.2, "perseveration": 0.5}


def slow_rows(choices: Choices, part: str) -> tuple[list[list[float]], list[int]]:
    """Predictors and choices by the definition, an episode at a time."""
    episodes: dict[tuple[int, int, int], Any] = {}
    rows = list(zip(*[column.tolist() for column in choices], strict=True))
    for p, session, e, _, _, action, state, reward in rows:
        episodes[p, session, e] = action, state, reward
    x, y = [], []
    sign = {0: 1.0, 1: -1.0}
    for p, session, e, cued, cue, action, _, _ in rows:
        if cued != (part == "cued") or (p, session, e - 1) not in episodes:
            continue
        a, s, r = episodes[p, session, e - 1]
        row = [(2 * r - 1) * sign[a], (2 * r - 1) * sign[s]]
        if cued:
            a_e, s_e, r_e = episodes[p, session, cue]
            row += [(2 * r_e - 1) * sign[a_e], (2 * r_e - 1) * sign[s_e]]
        x.append([*row, 1.0, sign[a]])
        y.append(1 - action)
    return x, y


def slow_log_likelihood(beta: Floats, x: Floats, y: Floats) -> float:
    p = 1 / (1 + np.exp(-x @ beta))
    return float(np.sum(np.log(np.where(y == 1, p, 1 - p))))


def numeric_hessian(f: Any, at: Floats, h: float = 1e-3) -> Floats:
    steps = h * np.eye(len(at))
    return np.array(
        [
            [
                (f(at + i + j) - f(at + i - j) - f(at - i + j) + f(at - i - j)) / (4 * h**2)
                for j in steps
            ]
            for i in steps
        ]
    )
