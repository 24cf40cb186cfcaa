"""The regression of Fig. 6b under three codings of an action's value, and an observer as control.

The paper fits "the softmax of a weighted sum of action values", which leaves open what an outcome
does to the value of the action not taken. Of the previous or the cued episode (a, s, r):

    ±1        x_MF = (2r − 1) sgn(a)   x_MB = (2r − 1) sgn(s)    no reward speaks for the other one
    0/1       x_MF = r sgn(a)          x_MB = r sgn(s)           no reward says nothing
    literal   x_MF = r sgn(a)          x_MB = r sgn(a) [common]  repeat if rewarded, and common

The control knows the task, believes by Bayes, and has no model-free part by construction: a coding
under which it shows IMF cannot tell whether an agent has any.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from reinstate.analysis.verdicts import over_seeds
from reinstate.choices.likelihood import fit_weights
from reinstate.choices.model import (
    MODEL_BASED,
    MODEL_FREE,
    NAMES,
    NONE,
    SIGN,
    Choices,
    Floats,
    GroupedChoices,
    Ints,
    count_choices,
    from_arrays,
    pattern_codes,
    predictors,
)
from reinstate.tasks.two_step import EpisodicTwoStep

REWARDED = np.append(np.arange(NONE) % 2, 0)
COMMON = np.append(np.arange(NONE) // 4 == np.arange(NONE) // 2 % 2, 0)
CODINGS = {  # model-free and model-based predictors, by the code of an outcome
    "±1": (MODEL_FREE, MODEL_BASED),
    "0/1": (REWARDED * SIGN, REWARDED * MODEL_BASED),
    "literal": (REWARDED * SIGN, REWARDED * COMMON * SIGN),
}
BETAS = (1.0, 3.0, 6.0)  # of the observer: how surely it follows its belief


def by_coding(choices: Choices) -> dict[str, Any]:
    """Fit every participant under every coding: weights by coding, part and strategy."""
    counts = count_choices(choices)
    return {
        coding: {part: _group(counts, part, coding) for part in NAMES if _met(counts, part)}
        for coding in CODINGS
    }


def _met(counts: Ints, part: str) -> bool:
    return bool(counts[(slice(None), *pattern_codes(part))].any())


def _group(counts: Ints, part: str, coding: str) -> dict[str, Any]:
    names, (free, based) = NAMES[part], CODINGS[coding]
    previous, cue = pattern_codes(part)
    columns: dict[str, Floats] = {"IMF": free[previous], "IMB": based[previous]}
    if part == "cued":
        columns |= {"EMF": free[cue], "EMB": based[cue]}
    x = predictors(names, previous, cue, **columns)
    estimates = []
    for own in counts:
        n = own[previous, cue].astype(float)
        estimates.append(fit_weights(GroupedChoices(x, n[:, 0], n.sum(axis=1)), names).estimate)
    table = np.array(estimates)
    return {name: over_seeds(table[:, place]) for place, name in enumerate(names)}


def observers(
    task: EpisodicTwoStep, participants: int, sessions: int, seed: int = 0
) -> dict[str, Any]:
    """Fit the control under every coding, by how surely it follows its belief; uncued episodes."""
    return {
        f"{beta:g}": by_coding(observe(task, beta, participants, sessions, seed)) for beta in BETAS
    }


def observe(
    task: EpisodicTwoStep, beta: float, participants: int, sessions: int, seed: int | Sequence[int]
) -> Choices:
    """Play uncued episodes by belief alone: logit P(action 0) = β (P(s0 good) − P(s1 good))."""
    rng, shape = np.random.default_rng(seed), (participants, sessions)
    first = np.full(shape, 0.5)  # P(s0 good)
    good = rng.integers(2, size=shape)
    played = []
    for _ in range(task.uncued):
        good = good ^ (rng.random(shape) < task.p_reversal)
        p = 1 / (1 + np.exp(-beta * (2 * first - 1)))
        action = (rng.random(shape) >= p).astype(int)
        state = action ^ (rng.random(shape) >= task.p_common)
        pays = np.where(state == good, task.p_high, task.p_low)
        reward = (rng.random(shape) < pays).astype(int)
        played.append((action, state, reward))
        # Bayes: how probable this reward is if s0 is good, and if s1 is.
        chances = [np.where(state == s, task.p_high, task.p_low) for s in (0, 1)]
        likely = [np.where(reward == 1, chance, 1 - chance) for chance in chances]
        first = first * likely[0] / (first * likely[0] + (1 - first) * likely[1])
        first = first * (1 - task.p_reversal) + (1 - first) * task.p_reversal
    action, state, reward = (np.stack(column, axis=-1) for column in zip(*played, strict=True))
    uncued = np.zeros(action.shape, bool)
    return from_arrays(action, state, reward, uncued, np.full(action.shape, -1))
