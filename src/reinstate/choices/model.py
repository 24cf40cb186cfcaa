"""Episodes of the two-step task and the predictors of their choices (section 4.5).

Action 0 commonly leads to state 0, action 1 to state 1; sgn is +1 for 0 and −1 for 1; ρ = 2r − 1.

    logit P(action 0) = Σ_k β_k x_k + β_bias + β_perseveration sgn(a)

    x_IMF = ρ sgn(a)   x_IMB = ρ sgn(s)    of the previous episode (a, s, r) of the session
    x_EMF = ρ sgn(a)   x_EMB = ρ sgn(s)    of the episode whose cue is shown

sgn(s) is also the sign of the action that commonly leads to s. Perseveration repeats the previous
action; without it, beliefs held for several episodes would leak into the incremental weights.
Uncued and cued episodes are fitted separately, for each participant (a person, or an agent's run).
An episode without a predecessor, such as the first of a session, is not fitted.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from reinstate.errors import UserError, nearest, require_positive, require_probability

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAMES = {
    "uncued": ("IMF", "IMB", "bias", "perseveration"),
    "cued": ("IMF", "IMB", "EMF", "EMB", "bias", "perseveration"),
}
STRATEGIES = ("IMF", "IMB", "EMF", "EMB")

# What happened in an episode, as one number 4 a + 2 s + r; 8 where there is no such episode.
NONE = 8
_code = np.arange(NONE)
_rho = 2.0 * (_code % 2) - 1
SIGN = np.append(1.0 - 2 * (_code // 4), 0)  # sgn(a)
MODEL_FREE = np.append(_rho, 0) * SIGN  # ρ sgn(a)
MODEL_BASED = np.append(_rho * (1 - 2 * (_code // 2 % 2)), 0)  # ρ sgn(s)


class Choices(NamedTuple):
    """Equally long arrays, one row per episode."""

    participant: Ints  # 0, 1, …
    session: Ints  # within the participant
    episode: Ints  # from 0 within the session; after a gap, an episode has no predecessor
    cued: NDArray[np.bool_]
    cue_episode: Ints  # whose cue is shown, in the same session; −1 if uncued
    action: Ints  # 0 or 1
    state: Ints  # 0 or 1
    reward: Ints  # 0 or 1


def from_arrays(action: Any, state: Any, reward: Any, cued: Any, cue_episode: Any) -> Choices:
    """Make choices of an evaluation's (seeds, epochs, episodes); a seed is a participant."""
    seed, epoch, episode = np.indices(np.shape(action))
    cue_episode = np.where(cued, cue_episode, -1)
    integers = Choices(seed, epoch, episode, cued, cue_episode, action, state, reward)
    flat = Choices._make(np.ravel(column).astype(np.int64) for column in integers)
    return flat._replace(cued=flat.cued.astype(bool))


def from_record(record: Any) -> Choices:
    """Make choices of an evaluation's `Record` of the two-step task; a seed is a participant."""
    cue = np.asarray(record.trace.cue_episode)[..., 0]
    reward = np.asarray(record.reward).sum(axis=-1)
    return from_arrays(record.action[..., 0], record.trace.state[..., 1], reward, cue >= 0, cue)


def join_choices(parts: list[Choices]) -> Choices:
    """Concatenate tables of choices by different participants, who are numbered on."""
    numbered, first = [], 0
    for part in parts:
        numbered.append(part._replace(participant=part.participant + first))
        first += int(part.participant.max(initial=-1)) + 1
    return Choices(*[np.concatenate(column) for column in zip(*numbered, strict=True)])


class Design(NamedTuple):
    """How much is played, and of what kind; the defaults are those of `recovery`."""

    participants: int = 20
    sessions: int = 30  # of each participant
    episodes: int = 100  # of each session
    p_common: float = 0.8  # probability of the common transition
    cued: float = 0.5  # share of episodes that are cued


def design_of(choices: Choices) -> Design:
    """Take the design from choices: means where participants or sessions differ."""
    played = np.unique(np.stack([choices.participant, choices.session]), axis=1)
    people = len(np.unique(choices.participant))
    return Design(
        people,
        max(round(played.shape[1] / people), 1),
        max(round(len(choices.action) / played.shape[1]), 2),
        float(np.mean(choices.action == choices.state)),
        float(np.mean(choices.cued)),
    )


class Linked(NamedTuple):
    """Episodes in order of participant, session and number, with those they may depend on."""

    participant: Ints
    first: Ints  # row of the session's first episode
    previous: Ints  # row of the episode before; −1 if there is none
    cue: Ints  # row of the cued episode; −1 if uncued
    outcome: Ints  # 4 a + 2 s + r
    action: Ints


def link_episodes(choices: Choices) -> Linked:
    """Sort episodes, and find the previous and the cued one of each."""
    order = np.lexsort((choices.episode, choices.session, choices.participant))
    c = Choices._make(np.asarray(column)[order] for column in choices)
    rows = np.arange(len(order))
    same = (c.participant[1:] == c.participant[:-1]) & (c.session[1:] == c.session[:-1])
    new = np.concatenate([[True], ~same])[: len(order)]
    follows = np.concatenate([[False], same & (np.diff(c.episode) == 1)])[: len(order)]
    # One number per session and episode, increasing over the rows.
    span = int(max(c.episode.max(initial=0), c.cue_episode.max(initial=0))) + 1
    base = (np.cumsum(new) - 1) * span
    key, wanted = base + c.episode, (base + c.cue_episode)[c.cued]
    cue = np.full(len(order), -1)
    cue[c.cued] = np.minimum(np.searchsorted(key, wanted), len(order) - 1)
    if (key[cue[c.cued]] != wanted).any():
        raise ValueError("a cue_episode is no episode of its session")
    return Linked(
        c.participant,
        np.maximum.accumulate(np.where(new, rows, 0)),
        np.where(follows, rows - 1, -1),
        cue,
        4 * c.action + 2 * c.state + c.reward,
        c.action,
    )


def outcome_at(linked: Linked, rows: Ints) -> Ints:
    """Return the codes of what happened in some rows; NONE where a row is −1."""
    return np.where(rows >= 0, linked.outcome[rows], NONE)


def count_choices(choices: Choices) -> Ints:
    """Count episodes by (participant, previous outcome, cued outcome, action), (n, 9, 9, 2).

    One-back models and stay probabilities need no more. The cued outcome of an uncued episode is
    NONE.
    """
    linked = link_episodes(choices)
    participants = int(linked.participant.max(initial=-1)) + 1
    shape = (participants, NONE + 1, NONE + 1, 2)
    previous, cue = outcome_at(linked, linked.previous), outcome_at(linked, linked.cue)
    cell = np.ravel_multi_index((linked.participant, previous, cue, linked.action), shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


class GroupedChoices(NamedTuple):
    """Choices, with one row for all that share their predictors."""

    x: Floats  # (rows, weights)
    chosen: Floats  # (rows,) how often action 0 was chosen
    total: Floats  # (rows,)


def predictors(names: tuple[str, ...], previous: Ints, cue: Ints, **other: Floats) -> Floats:
    """Compute x (rows, weights) from the codes of both outcomes; `other` replaces columns."""
    columns = {
        "IMF": MODEL_FREE[previous],
        "IMB": MODEL_BASED[previous],
        "EMF": MODEL_FREE[cue],
        "EMB": MODEL_BASED[cue],
        "bias": np.ones(len(previous)),
        "perseveration": SIGN[previous],
    } | other
    return np.stack([columns[name] for name in names], axis=-1)


def pattern_codes(part: str) -> tuple[Ints, Ints]:
    """Return the previous and the cued outcome of every pattern: 8 if uncued, 64 if cued."""
    cues = np.array([NONE]) if part == "uncued" else np.arange(NONE)
    previous, cue = np.meshgrid(np.arange(NONE), cues, indexing="ij")
    return previous.ravel(), cue.ravel()


def group_one_back(counts: Ints, part: str, names: tuple[str, ...] | None = None) -> GroupedChoices:
    """Group one participant's counts (9, 9, 2) by predictors, in the order of `pattern_codes`."""
    previous, cue = pattern_codes(part)
    n = counts[previous, cue].astype(float)
    return GroupedChoices(predictors(names or NAMES[part], previous, cue), n[:, 0], n.sum(axis=1))


def simulate(
    weights: Mapping[str, float],
    sessions: int,
    episodes: int = 100,
    p_common: float = 0.8,
    p_reversal: float = 0.1,
    p_high: float = 0.9,
    p_low: float = 0.1,
    seed: int | Sequence[int] = 0,
    alpha: float = 1.0,
    cued: float = 0.5,
) -> Choices:
    """Simulate an agent that follows the choice model exactly, in the episodic two-step task.

    The first episodes of a session are uncued, a share `cued` of them at its end is cued. A cued
    episode shows the cue of an uncued one, drawn uniformly: reaching its state again pays its
    reward again. `alpha` is the learning rate of the incremental values; 1 looks one outcome back.
    """
    for name in weights:
        if name not in NAMES["cued"]:
            raise UserError(nearest("weight", name, NAMES["cued"]))
    require_positive(sessions=sessions, episodes=episodes - 1, alpha=alpha)
    require_probability(p_common=p_common, p_reversal=p_reversal, p_high=p_high, p_low=p_low)
    require_probability(cued=cued)
    w = {name: float(weights.get(name, 0)) for name in NAMES["cued"]}
    rng = np.random.default_rng(seed)
    uncued, every = max(int(round(episodes * (1 - cued), 6)), 1), np.arange(sessions)
    cue = np.full((sessions, episodes), -1)
    cue[:, uncued:] = rng.integers(uncued, size=(sessions, episodes - uncued))
    outcome = np.full((sessions, episodes + 1), NONE)  # the last column is never filled: no episode
    values = np.zeros((2, sessions))  # incremental: model-free, model-based
    good = rng.integers(2, size=sessions)
    for e in range(episodes):
        good = good ^ (rng.random(sessions) < p_reversal)
        shown = outcome[every, cue[:, e]]
        logit = w["bias"] + w["IMF"] * values[0] + w["IMB"] * values[1]
        logit += w["perseveration"] * SIGN[outcome[:, e - 1]]
        logit += w["EMF"] * MODEL_FREE[shown] + w["EMB"] * MODEL_BASED[shown]
        action = (rng.random(sessions) >= special.expit(logit)).astype(int)
        state = action ^ (rng.random(sessions) >= p_common)
        reward = rng.random(sessions) < np.where(state == good, p_high, p_low)
        replayed = (shown != NONE) & (shown // 2 % 2 == state)
        outcome[:, e] = 4 * action + 2 * state + np.where(replayed, shown % 2, reward)
        now = np.stack([MODEL_FREE[outcome[:, e]], MODEL_BASED[outcome[:, e]]])
        values += alpha * (now - values)
    seen = outcome[None, :, :-1]
    return from_arrays(seen // 4, seen // 2 % 2, seen % 2, (cue >= 0)[None], cue[None])
