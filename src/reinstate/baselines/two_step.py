"""Ideal observers of the episodic two-step task (Experiment 5).

One of s1, s2 is good: it pays with p_high, the other with p_low, and they change places with
p_reversal before every episode. The first action leads to its common state with p_common. An
epoch has first uncued, then cued episodes. A cued episode shows the cue of an episode e drawn
uniformly, with replacement, from the uncued ones: reaching s_e again pays r_e again, the other
state pays a fresh draw. Either state can be aimed at, and is then reached with probability
pi = max(p_common, 1 - p_common); T is the state aimed at and O the other.

Uncued. m = P(T good) >= 1/2, since T is the state believed better. Having reached s and got r,

    m <- m l_T / (m l_T + (1 - m) l_O)      l_x = P(r | s, x good)         (Bayes)
    m <- m (1 - p_reversal) + (1 - m) p_reversal                           (hazard)
    m <- max(m, 1 - m)                                                     (aim again)

and the good state is reached with g = pi m + (1 - pi)(1 - m). Aiming at the better state is optimal
where p_high + p_low = 1: then either state tells as much about the other, and no choice buys
information. Elsewhere it is greedy, a lower bound on the optimum that was tight in all tests.
Where p_high = 1 - p_low and p_reversal >= p_low, as in the paper, the last outcome outweighs all
before it, so the ideal observer plays the paper's incremental model-based strategy (IMB).

Cued, episodic. Whatever is believed, aim at s_e if r_e = 1 and away from it if r_e = 0: a fresh
draw offers no more than 1 and no less than 0. So the belief drops out, and the reward follows from
g_e and from c = (1 - 2 p_reversal)^(n - e): the good state of e is good at n with (1 + c)/2.
If p_high + p_low = 1, having reached the good state at e is worth (p_high - p_low)(1 - c)/2 >= 0
more than the other when e is cued. So aiming at the better state serves both halves, and their
rewards are optimal together.

Cued, incremental. An observer that ignores the cue cannot tell a replayed outcome from a fresh
one. It knows the rules, so its likelihood allows for both. Half of all episodes e reached s, and
they paid with rho, the mean uncued reward:

    P(r | s, x good) = 1/2 P(r_e = r) + 1/2 l_x        with P(r_e = 1) = rho.

An observer that took every outcome for fresh would do worse (.625 against .634 at the defaults).
One that also counts its own uncued outcomes, n_sr of (s, r) in H episodes, does better (.638):

    P(r | s, x good) = n_sr / H + (1 - n_s / H) l_x                        (counting)

It recalls no episode and uses no cue, so an agent without episodic memory may beat the plain
incremental observer; compare such an agent to `counting_cued`.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reinstate.errors import Unsolvable, UserError, require_positive
from reinstate.tasks.two_step import EpisodicTwoStep

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Estimate(NamedTuple):
    mean: float
    stderr: float


@lru_cache(maxsize=8)  # recorded results of one task are read many times
def ideal_observers(task: EpisodicTwoStep) -> dict[str, float]:
    """Return all observers' reward per episode: exact, but for those that ignore the cue."""
    require_positive(cued=task.cued)
    g = good_state_probability(task)
    plain, counting = incremental_cued(task, g), incremental_cued(task, g, counting=True)
    return {
        "uncued": float(np.mean(pay(task, g))),  # of all: without a cue nothing is to be recalled
        "episodic_cued": episodic_cued(task, g),
        "incremental_cued": plain.mean,
        "counting_cued": counting.mean,
        "simulation_half_width": 1.96 * max(plain.stderr, counting.stderr),
    }


def pay(task: EpisodicTwoStep, good: Floats) -> Floats:
    """Return P(r = 1) in a state that is good with probability `good`."""
    return task.p_low + (task.p_high - task.p_low) * good


def reach(task: EpisodicTwoStep) -> float:
    """Return pi, the probability of reaching the state that is aimed at."""
    return max(task.p_common, 1 - task.p_common)


def good_state_probability(task: EpisodicTwoStep, grid: int = 4001) -> Floats:
    """Compute g_n, (uncued,): the probability that uncued episode n reaches the good state.

    The law of m is carried forward on a grid over [1/2, 1], each mass split between its two
    neighbours so that the mean of m is kept: an error of O(grid^-2), under 1e-8 in all tests.
    Cost O(uncued grid), memory O(grid).
    """
    if task.p_low > task.p_high:
        raise Unsolvable(f"p_low {task.p_low} exceeds p_high {task.p_high}: swap the two")
    pi, m, law = reach(task), np.linspace(0.5, 1, grid), np.zeros(grid)
    law[0] = 1  # both states are equally likely to be good at first
    g = np.zeros(task.uncued)
    for n in range(task.uncued):
        g[n] = law @ (pi * m + (1 - pi) * (1 - m))
        law = _next_law(task, m, law)
    return g


def _next_law(task: EpisodicTwoStep, m: Floats, law: Floats) -> Floats:
    following = np.zeros_like(law)
    for reached_target, chance in ((True, reach(task)), (False, 1 - reach(task))):
        for r in (True, False):
            l_target, l_other = _likelihoods(task, np.array(reached_target), np.array(r))
            evidence = m * l_target + (1 - m) * l_other
            believed = _hazard(task, _bayes(m, l_target, l_other))
            aimed = np.maximum(believed, 1 - believed)
            place = np.clip((aimed - 0.5) * 2 * (len(m) - 1), 0, len(m) - 1)
            below = np.minimum(place.astype(np.int64), len(m) - 2)
            mass = law * chance * evidence
            following += np.bincount(below, mass * (below + 1 - place), len(m))
            following += np.bincount(below + 1, mass * (place - below), len(m))
    return following


def episodic_cued(task: EpisodicTwoStep, g: Floats) -> float:
    """Solve for the mean reward of cued episodes of the observer that recalls (s_e, r_e).

    The state e did not reach is good at n with (1 - c)/2 if s_e was good at e, with (1 + c)/2 if
    not, and pays R accordingly;  r_e = 1 gives pi + (1 - pi) R  and  r_e = 0 gives pi R.
    """
    lag = np.arange(task.uncued, task.episodes_per_epoch)[:, None] - np.arange(task.uncued)
    c = (1 - 2 * task.p_reversal) ** lag.astype(float)  # (cued n, uncued e)
    pi, reward = reach(task), np.zeros_like(c)
    for weight, p_r, sign in ((g, task.p_high, -1), (1 - g, task.p_low, 1)):
        other = pay(task, (1 + sign * c) / 2)
        reward += weight * p_r * (pi + (1 - pi) * other)
        reward += weight * (1 - p_r) * pi * other
    return float(reward.mean())


def incremental_cued(
    task: EpisodicTwoStep, g: Floats, counting: bool = False, epochs: int = 50_000, seed: int = 0
) -> Estimate:
    """Simulate the reward of cued episodes of an observer that ignores the cue.

    Not exact: replays tie all cued episodes of an epoch to its four counts n_sr, so the exact law
    has O(uncued^3) times as many states as the belief. Each episode scores its expected, not its
    drawn reward, and the uncued half, whose exact mean is known from `g`, is a control variate:
    stderr is about .04 / sqrt(epochs). Cost O(episodes epochs), memory O(epochs).
    """
    if epochs < 2:
        raise UserError(f"epochs must be at least 2, got {epochs}")
    rng, pi = np.random.default_rng(seed), reach(task)
    rho = float(np.mean(pay(task, g)))
    s1_good = rng.random(epochs) < 0.5
    belief = np.full(epochs, 0.5)  # that s1 is good
    counts = np.zeros((2, 2, epochs))  # share of uncued episodes that ended in (state, reward)
    score = np.zeros((2, epochs))  # mean reward of the uncued and of the cued half
    for n in range(task.episodes_per_epoch):
        cued = int(n >= task.uncued)
        pool = counts * cued  # nothing is replayed in the uncued half
        s1_good ^= rng.random(epochs) < task.p_reversal
        belief = _hazard(task, belief)
        worth = _expected_pay(task, pool if counting else 0 * pool, belief)
        aim_s1 = worth[0] + 1e-12 * (rng.random(epochs) - 0.5) > worth[1]
        at_s1 = aim_s1 == (rng.random(epochs) < pi)
        expected = _expected_pay(task, pool, s1_good.astype(float))
        hit = np.where(aim_s1, pi, 1 - pi)
        score[cued] += hit * expected[0] + (1 - hit) * expected[1]
        r = rng.random(epochs) < np.where(at_s1, expected[0], expected[1])
        l_1, l_2 = _likelihoods(task, at_s1, r)
        if counting:
            replayed, fresh = _replay_terms(pool, at_s1, r)
        else:
            replayed, fresh = cued / 2 * np.where(r, rho, 1 - rho), np.full(epochs, 1 - cued / 2)
        belief = _bayes(belief, replayed + fresh * l_1, replayed + fresh * l_2)
        if not cued:
            counts[np.where(at_s1, 0, 1), r.astype(int), np.arange(epochs)] += 1 / task.uncued
    score /= [[task.uncued], [task.cued]]
    return _with_control(score[1], score[0], rho)


def _expected_pay(task: EpisodicTwoStep, pool: Floats, s1_good: Floats) -> Floats:
    """Return P(r = 1 | s) = pool_s1 + (1 - pool_s) pay_s, replayed or fresh, (2, epochs)."""
    fresh = np.stack([pay(task, s1_good), pay(task, 1 - s1_good)])
    paid: Floats = pool[:, 1] + (1 - pool.sum(1)) * fresh
    return paid


def _replay_terms(pool: Floats, at_s1: Bools, r: Bools) -> tuple[Floats, Floats]:
    """Return (n_sr / H, 1 - n_s / H) of the outcome seen."""
    of_state = np.where(at_s1, pool[0], pool[1])  # (reward, epochs)
    return np.where(r, of_state[1], of_state[0]), 1 - of_state.sum(0)


def _likelihoods(task: EpisodicTwoStep, at_first: Bools, r: Bools) -> tuple[Floats, Floats]:
    """Return P(r | the state) if the first state is the good one, and if the second is."""
    high = np.where(r, task.p_high, 1 - task.p_high)
    low = np.where(r, task.p_low, 1 - task.p_low)
    return np.where(at_first, high, low), np.where(at_first, low, high)


def _bayes(belief: Floats, l_first: Floats, l_second: Floats) -> Floats:
    joint = belief * l_first
    evidence = joint + (1 - belief) * l_second
    # An impossible outcome has no posterior; it also has no mass.
    return np.divide(joint, evidence, out=np.full_like(belief, 0.5), where=evidence > 0)


def _hazard(task: EpisodicTwoStep, belief: Floats) -> Floats:
    return belief * (1 - task.p_reversal) + (1 - belief) * task.p_reversal


def _with_control(value: Floats, control: Floats, control_mean: float) -> Estimate:
    """Average `value` minus the part that `control` explains, beta (control - its mean)."""
    spread = control.var()
    beta = ((value - value.mean()) * (control - control.mean())).mean() / spread if spread else 0.0
    adjusted = value - beta * (control - control_mean)
    return Estimate(float(adjusted.mean()), float(adjusted.std() / np.sqrt(len(value))))


def two_step_optimum(task: EpisodicTwoStep) -> dict[str, Any]:
    """Return the rewards of ideal observers; those of the incremental ones are simulated.

    Exact if p_high + p_low = 1: chance, uncued, episodic_cued, and with_memory, the mean of these
    two over the epoch. Elsewhere all but chance are of greedy observers: reachable, but no proven
    bound (see the top of this file). without_memory has counting_cued for cued episodes,
    simulated to simulation_half_width. It is greedy too: reachable, and the best known without
    recall of single episodes, but no proven bound. Without cued episodes nothing is to be recalled.
    """
    chance = (task.p_high + task.p_low) / 2
    if task.cued == 0:
        best = float(np.mean(pay(task, good_state_probability(task))))
        return {"uncued": best, "with_memory": best, "without_memory": best, "chance": chance}
    found = ideal_observers(task)
    share = task.cued / task.episodes_per_epoch
    uncued = (1 - share) * found["uncued"]
    return {
        **found,
        "with_memory": uncued + share * found["episodic_cued"],
        "without_memory": uncued + share * found["counting_cued"],
        "chance": chance,
    }
