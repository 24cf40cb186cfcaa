"""When is a memory let in? The r-gate in the two-step task (section 4.5, Fig. 6c)."""

from typing import Any

import numpy as np

from reinstate.analysis.intervals import ends_of, over_seeds
from reinstate.evaluation import Record

STAGES = ("cue", "second stage", "outcome")


def gate_scores(record: Record) -> dict[str, Any]:
    """Summarise the r-gate, mean over units, by stage, by block, and by how the choice turned out.

    Nothing for an agent that reports no such gate.
    """
    if "r" not in record.report:
        return {}
    gate, outcome = record.report["r"], record.outcome["r"]
    by_stage = np.stack([gate[..., 0], gate[..., 1], outcome], axis=-1)  # (…, episodes, stages)
    cued = np.asarray(record.trace.cue_episode[0, 0, :, 0] >= 0)  # (episodes,) the same always
    found: dict[str, Any] = {
        "stages": list(STAGES),
        "over_epoch": by_stage.mean(axis=(0, 1)).T.tolist(),  # (stages, episodes)
        "over_epoch_ci95": ends_of(np.swapaxes(by_stage.mean(axis=1, dtype=float), 1, 2)),
        "uncued": over_seeds(by_stage[:, :, ~cued].mean(axis=(1, 2))),  # of (stages,)
    }
    if cued.any():
        found["first_cued"] = int(cued.argmax())
        found["cued"] = over_seeds(by_stage[:, :, cued].mean(axis=(1, 2)))
        found |= _at_the_choice(record, cued)
    return found


def _at_the_choice(record: Record, cued: np.ndarray) -> dict[str, Any]:
    """Summarise the gate at the first stage of cued episodes, when memory can inform the choice."""
    gate = np.asarray(record.report["r"])[:, :, cued, 0]  # (seeds, epochs, episodes)
    worth = np.asarray(record.trace.worth)[:, :, cued, 0]  # (…, actions)
    action = np.asarray(record.action)[:, :, cued, 0]
    best = worth.argmax(axis=-1)
    counts = worth[..., 0] != worth[..., 1]  # else there is no wrong choice
    useful = usefulness(record)[:, :, cued]
    per_seed = [_correlation(g, u) for g, u in zip(gate, useful, strict=True)]
    return {
        **_by_choice(gate, counts & (action == best), counts & (action != best)),
        "correlation_with_usefulness": over_seeds(per_seed),
    }


def _by_choice(gate: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> dict[str, Any]:
    """Average each seed's gate over right and over wrong choices; nothing if a seed lacks either.

    Episodes of one seed share its weights, so it is seeds that are compared, not episodes.
    """
    if not all(here.any(axis=(1, 2)).all() for here in (right, wrong)):
        return {}
    return {
        name: over_seeds([g[h].mean(dtype=float) for g, h in zip(gate, here, strict=True)])
        for name, here in (("correct", right), ("wrong", wrong))
    }


def usefulness(record: Record) -> np.ndarray:
    """Return what recall is worth in each episode, (seeds, epochs, episodes).

    The expected reward of the action that the cued episode recommends (EMB), less that of the
    action that the previous episode recommends (IMB): 0 where they agree, and in uncued episodes.
    """
    cue = np.asarray(record.trace.cue_episode)[..., 0]
    state, reward = np.asarray(record.trace.state)[..., 1], np.asarray(record.reward).sum(axis=-1)
    advice = np.where(reward > 0, state, 1 - state)  # an episode's, to one that follows its model
    episodic = np.take_along_axis(advice, np.maximum(cue, 0), axis=-1)
    incremental = np.concatenate([advice[..., :1], advice[..., :-1]], axis=-1)
    worth = np.asarray(record.trace.worth)[..., 0, :]
    gains = [np.take_along_axis(worth, a[..., None], -1)[..., 0] for a in (episodic, incremental)]
    return np.where(cue >= 0, gains[0] - gains[1], 0.0)


def _correlation(gate: np.ndarray, useful: np.ndarray) -> float:
    if np.ptp(gate) == 0 or np.ptp(useful) == 0:
        return 0.0
    return float(np.corrcoef(gate.ravel(), useful.ravel())[0, 1])
