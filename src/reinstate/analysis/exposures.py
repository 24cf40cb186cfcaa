"""Does an agent do better when a context comes back, and does its memory find that context?"""

import numpy as np

from reinstate.analysis.results import ByExposure, OverSeeds, Scores
from reinstate.analysis.verdicts import ends_of, evaluation_error, over_seeds, without_nan
from reinstate.evaluation import Record


def rewards_over_seeds(reward: np.ndarray) -> OverSeeds:
    """Summarise reward per episode, (seeds, epochs, episodes), with the evaluation's own error."""
    by_epoch = reward.mean(axis=-1, dtype=float)
    return over_seeds(by_epoch.mean(axis=1), evaluation_error(by_epoch))


def reward_by_epoch(record: Record) -> list[list[float]]:
    """Return the mean reward per episode of each seed and epoch, (seeds, epochs)."""
    reward = np.asarray(record.reward).sum(axis=-1)  # (seeds, epochs, episodes)
    found: list[list[float]] = reward.mean(axis=-1, dtype=float).tolist()
    return found


def reward_per_episode(record: Record) -> np.ndarray:
    """Return the mean reward per episode of each seed, (seeds,)."""
    return np.mean(reward_by_epoch(record), axis=1)


def by_exposure(record: Record) -> ByExposure:
    """Summarise reward per episode and cumulative expected regret after each step, by exposure.

    regret_t = Σ_{s ≤ t} (best expected reward − expected reward of the chosen action)
    """
    exposure = np.asarray(record.exposure)
    regret = np.asarray(record.best_expected_reward) - np.asarray(record.expected_reward)
    reward = np.asarray(record.reward).sum(axis=-1)  # (seeds, epochs, episodes)
    cumulative = regret.cumsum(axis=-1)  # (seeds, epochs, episodes, steps)
    # Exposures that some seed never met (an urn's rare tail) have no mean over seeds.
    shared = int(min(e.max() for e in exposure)) + 1
    by_step = _means(cumulative, exposure, shared)  # (seeds, exposures, steps)
    return {
        "exposure": list(range(1, shared + 1)),
        "episodes": [int((exposure == e).sum()) for e in range(shared)],
        "reward": over_seeds(_means(reward, exposure, shared)),
        # Worlds that cannot tell what actions are worth have no regret.
        "regret": without_nan(over_seeds(_means(cumulative[..., -1], exposure, shared))),
        "regret_by_step": without_nan(by_step.mean(axis=0).tolist()),
        "regret_by_step_ci95": without_nan(ends_of(by_step)),
    }


def _means(values: np.ndarray, exposure: np.ndarray, count: int) -> np.ndarray:
    """Average over episodes, for each seed and exposure: (seeds, exposures, …)."""
    return np.stack(
        [
            np.stack([seed_values[seed_exposure == e].mean(axis=0) for e in range(count)])
            for seed_values, seed_exposure in zip(values, exposure, strict=True)
        ]
    )


def exposure_scores(record: Record) -> Scores:
    """Judge by what every agent and every algorithm is judged by."""
    reward = rewards_over_seeds(np.asarray(record.reward).sum(axis=-1))
    return {"reward": reward, "by_exposure": by_exposure(record)}


def retrieval_accuracy(record: Record) -> OverSeeds | None:
    """Return how often a context met before brought back a state of the same context.

    Nothing for an agent without a memory, or where no context comes back.
    """
    retrieved = np.asarray(record.retrieved)[..., 0]  # (seeds, epochs, episodes)
    context, known = np.asarray(record.context_id), np.asarray(record.exposure) > 0
    if np.all(retrieved < 0) or not known.any(axis=(1, 2)).all():
        return None
    same = np.take_along_axis(context, np.maximum(retrieved, 0), axis=-1) == context
    right = same & (retrieved >= 0)
    return over_seeds(np.array([r[k].mean() for r, k in zip(right, known, strict=True)]))
