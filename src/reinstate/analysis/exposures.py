"""Does an agent do better when a context comes back, and does its memory find that context?

Can it be told whether a context was met before, and what is done with one that was not?
Psychologists ask people whether an item is old or new, and draw the rate of hits against the rate
of false alarms (a receiver operating characteristic, ROC). Here the answer is a signal on the first
step of an episode: the similarity of the best match in memory, or how far the r-gate opens.
"""

from typing import Any

import numpy as np
import scipy

from reinstate.analysis.results import (
    ByExposure,
    EliminationScores,
    FamiliarityScores,
    OverSeeds,
    Scores,
    SignalScores,
)
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


def by_exposure(record: Record) -> ByExposure:
    """Summarise reward per episode and cumulative expected regret after each step, by exposure.

    regret_t = Σ_{s ≤ t} (best expected reward − expected reward of the chosen action)
    """
    exposure = np.asarray(record.exposure)
    regret = np.asarray(record.best_expected_reward) - np.asarray(record.expected_reward)
    reward = np.asarray(record.reward).sum(axis=-1)  # (seeds, epochs, episodes)
    cumulative = regret.cumsum(axis=-1)  # (seeds, epochs, episodes, steps)
    by_step = means_by_exposure(cumulative, exposure)  # (seeds, exposures, steps)
    shared = by_step.shape[1]
    return {
        "exposure": list(range(1, shared + 1)),
        "episodes": [int((exposure == e).sum()) for e in range(shared)],
        "reward": over_seeds(means_by_exposure(reward, exposure)),
        # Worlds that cannot tell what actions are worth have no regret.
        "regret": without_nan(over_seeds(means_by_exposure(cumulative[..., -1], exposure))),
        "regret_by_step": without_nan(by_step.mean(axis=0).tolist()),
        "regret_by_step_ci95": without_nan(ends_of(by_step)),
    }


def means_by_exposure(values: np.ndarray, exposure: np.ndarray) -> np.ndarray:
    """Average over episodes, for each seed and exposure: (seeds, exposures, …).

    Exposures that some seed never met (an urn's rare tail) have no mean over seeds: they are left
    out.
    """
    shared = range(int(min(e.max() for e in exposure)) + 1)
    seeds = zip(values, exposure, strict=True)
    return np.array([[own[met == e].mean(axis=0) for e in shared] for own, met in seeds])


def exposure_scores(record: Record) -> Scores:
    """Score what every agent and every algorithm is scored by."""
    reward = rewards_over_seeds(np.asarray(record.reward).sum(axis=-1))
    return {"reward": reward, "by_exposure": by_exposure(record)}


def retrieval_accuracy(record: Record) -> OverSeeds | None:
    """Return how often a context met before brought back a state of the same context.

    Nothing for an agent without a memory, or where no context comes back.
    """
    retrieved = np.asarray(record.retrieved)[..., 0]  # (seeds, epochs, episodes)
    context, known = np.asarray(record.context_id), np.asarray(record.exposure) > 0
    if np.all(retrieved < 0):
        return None
    same = np.take_along_axis(context, np.maximum(retrieved, 0), axis=-1) == context
    return mean_over_seeds(same & (retrieved >= 0), known)


def mean_over_seeds(values: np.ndarray, here: np.ndarray) -> OverSeeds | None:
    """Average over some of the episodes, for each seed; nothing where a seed has none of them."""
    seeds = list(zip(values, here, strict=True))
    if not all(some.any() for _, some in seeds):
        return None
    return over_seeds([own[some].mean(dtype=float) for own, some in seeds])


FALSE_ALARMS = np.arange(21) / 20


def familiarity(record: Record, met: Any = None) -> FamiliarityScores | None:
    """Score how well signals of the first step tell known contexts from new ones.

    `met` is how often what the memory is queried for was met before, (seeds, epochs, episodes): by
    default the exposure of the context. Episodes that find the memory empty are left out. Nothing
    where a seed has no known or no new context, as for an agent without a memory.
    """
    met = np.asarray(record.exposure if met is None else met)
    distance = np.asarray(record.distance)[..., 0]
    something = np.isfinite(distance)
    if not all((something & here).any(axis=(1, 2)).all() for here in (met > 0, met == 0)):
        return None
    found: FamiliarityScores = {
        "false_alarms": FALSE_ALARMS.tolist(),
        "similarity": _signal(1 - distance, met, something),
    }
    if np.any(record.report.get("r", 0)):  # a cell without the gate reports zeros
        found["r_gate"] = _signal(np.asarray(record.report["r"])[..., 0], met, something)
    return found


def _signal(signal: np.ndarray, met: np.ndarray, something: np.ndarray) -> SignalScores:
    seeds = [(s[h], m[h]) for s, m, h in zip(signal, met, something, strict=True)]
    shared = min(int(m.max()) for _, m in seeds)  # exposures beyond it some seed never met
    by_exposure = [[area(s[m == e], s[m == 0]) for e in range(1, shared + 1)] for s, m in seeds]
    return {
        "auc": over_seeds([area(s[m > 0], s[m == 0]) for s, m in seeds]),
        "auc_by_exposure": without_nan(np.mean(by_exposure, axis=0).tolist()),
        "roc": np.mean([hit_rates(s[m > 0], s[m == 0]) for s, m in seeds], axis=0).tolist(),
    }


def area(known: np.ndarray, new: np.ndarray) -> float:
    """Return the area under the ROC; NaN where either has none.

    It is P(known > new) + P(known = new) / 2 of a random pair: Mann and Whitney's U over all pairs.
    """
    if not (known.size and new.size):
        return float("nan")
    ranks = scipy.stats.rankdata(np.concatenate([known, new]))
    u = ranks[: known.size].sum() - known.size * (known.size + 1) / 2
    return float(u / (known.size * new.size))


def hit_rates(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the share of known at or above the thresholds that give each of FALSE_ALARMS.

    Between thresholds the ROC is drawn straight, so that its area is `area`.
    """
    thresholds = np.unique(np.concatenate([known, new]))[::-1]
    hits, false_alarms = (
        np.concatenate([[0], (each.size - np.searchsorted(each, thresholds)) / each.size])
        for each in (np.sort(known), np.sort(new))
    )
    # Where the ROC is vertical, interp takes its upper end.
    return np.interp(FALSE_ALARMS, false_alarms, hits)


def elimination(record: Record, num_arms: int) -> EliminationScores | None:
    """Score early pulls in new contexts, by the number m of contexts met before in the epoch.

    An arm is taken if it was the good one of a context met before. Where every context has an arm
    of its own, it cannot be the good one of a new context: who knows that a context is new can rule
    it out. A player who cannot tell pulls a taken arm with P = taken arms / num_arms. Second pulls
    count where the first paid nothing: an agent may have a habit of where to begin.
    """
    if not hasattr(record.trace, "good_arm"):
        return None
    pulls = np.asarray(record.action)  # (seeds, epochs, episodes, steps)
    arm = np.asarray(record.trace.good_arm)[..., 0]
    new = np.asarray(record.exposure) == 0
    before = _taken_before(arm, num_arms)  # (seeds, epochs, episodes, arms)
    met = np.where(new, new.cumsum(axis=-1) - 1, -1)  # (seeds, epochs, episodes)
    on_taken = np.take_along_axis(before, pulls, axis=-1)  # (seeds, epochs, episodes, steps)
    found: EliminationScores = {
        "taken": without_nan(over_seeds(means_by_count(on_taken[..., 0], met))),
        "cannot_tell": without_nan(means_by_count(before.mean(-1), met).mean(axis=0).tolist()),
    }
    lost = new & (np.asarray(record.reward)[..., 0] == 0)
    if pulls.shape[-1] > 1 and lost.any():
        second = on_taken[..., 1]
        found["taken_next"] = without_nan(
            over_seeds(means_by_count(second, np.where(lost, met, -1)))
        )
    return found | _on_the_arm_recalled(record, pulls[..., 0], arm, new)


def _on_the_arm_recalled(
    record: Record, pull: np.ndarray, arm: np.ndarray, new: np.ndarray
) -> EliminationScores:
    """Score how often a new context gets the good arm of the context whose state came back."""
    retrieved = np.asarray(record.retrieved)[..., 0]
    recalled = np.take_along_axis(arm, np.maximum(retrieved, 0), axis=-1)
    share = mean_over_seeds(pull == recalled, new & (retrieved >= 0))
    return {"recalled": share} if share else {}


def _taken_before(arm: np.ndarray, num_arms: int) -> np.ndarray:
    """Tell which arms were good ones in earlier episodes, (seeds, epochs, episodes, arms)."""
    now = arm[..., None] == np.arange(num_arms)
    until = np.logical_or.accumulate(now, axis=2)
    return np.concatenate([np.zeros_like(until[:, :, :1]), until[:, :, :-1]], axis=2)


def means_by_count(values: np.ndarray, counts: np.ndarray, where: Any = True) -> np.ndarray:
    """Average over epochs and episodes, by a count from 0: (seeds, counts, …); NaN for none."""
    means = []
    for here in ((counts == n) & where for n in range(int(counts.max()) + 1)):
        num, total = here.sum(axis=(1, 2)), np.where(here, values, 0.0).sum(axis=(1, 2))
        means.append(np.divide(total, num, out=np.full(num.shape, np.nan), where=num > 0))
    return np.stack(means, axis=1)
