"""When is a memory let in? The r-gate in the two-step task (section 4.5, Fig. 6c)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from reinstate.agent import Agent
from reinstate.analysis.exposures import mean_over_seeds
from reinstate.analysis.memory_map import EXPOSURES
from reinstate.analysis.verdicts import ends_of, over_seeds
from reinstate.cell import LSTMState
from reinstate.errors import UserError
from reinstate.evaluation import Condition, Evaluation, Record, evaluate_in
from reinstate.player import Decision, Player

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
        found |= _by_choice(record, cued)
    return found


def _by_choice(record: Record, cued: np.ndarray) -> dict[str, Any]:
    """Average each seed's gate over right and over wrong choices; nothing if a seed lacks either.

    They are those of the first stage of cued episodes, when memory can inform the choice. Episodes
    of one seed share its weights, so it is seeds that are compared, not episodes.
    """
    gate = np.asarray(record.report["r"])[:, :, cued, 0]  # (seeds, epochs, episodes)
    worth = np.asarray(record.trace.worth)[:, :, cued, 0]  # (…, actions)
    right = np.asarray(record.action)[:, :, cued, 0] == worth.argmax(axis=-1)
    counts = worth[..., 0] != worth[..., 1]  # else there is no wrong choice
    choices = {"correct": counts & right, "wrong": counts & ~right}
    found = {name: mean_over_seeds(gate, here) for name, here in choices.items()}
    return found if all(found.values()) else {}


class UnitGates(NamedTuple):
    """How far each unit's r-gate opens; units are sorted by their means, widest open first."""

    unit: np.ndarray  # (units,) from 0
    gate: np.ndarray  # (groups, units, steps) the last step is the one that sees the last reward
    groups: list[str]  # of episodes

    @property
    def mean(self) -> np.ndarray:
        """Mean over all that is shown, of each unit."""
        found: np.ndarray = self.gate.mean(axis=(0, 2))
        return found

    @property
    def half(self) -> int:
        """The smallest number of units that have half of the gate, summed over all of them."""
        so_far = np.cumsum(self.mean)
        return int(np.searchsorted(so_far, so_far[-1] / 2)) + 1


def unit_gates(
    condition: Condition, player: Player, settings: Evaluation, seed: int | Array
) -> UnitGates:
    """Let a player play the epochs of an evaluation, and average each unit's r-gate.

    Episodes are grouped by exposure; those of the two-step task by whether they are cued.
    """
    if not (isinstance(player, Agent) and player.cell.episodic):
        raise UserError("gates of units are those of the r-gate, and this agent has none")

    def by_unit(state: LSTMState, decision: Decision) -> dict[str, Array]:
        """Report each unit under a name of its own."""
        return {str(unit): gate for unit, gate in enumerate(decision.report["r"])}

    program = jax.jit(lambda agent, seed: evaluate_in(condition, agent, settings, seed, by_unit))
    record: Any = jax.tree.map(np.asarray, program(player, seed))
    gates = np.concatenate([_by_unit(record.report), _by_unit(record.outcome)[..., None]], axis=-1)
    played = np.ones(gates.shape[1:], bool)
    if record.played is not None:  # steps after an early end are not
        played[..., :-1] = record.played
    groups = _groups(record)
    means = [
        [unit[here].mean(axis=0, where=played[here]) for unit in gates] for here in groups.values()
    ]
    found = np.array(means, float)  # (groups, units, steps)
    order = np.argsort(-found.mean(axis=(0, 2)), kind="stable")
    return UnitGates(order, found[:, order], list(groups))


def _by_unit(report: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.stack([report[str(unit)] for unit in range(len(report))])


def _groups(record: Any, exposures: Sequence[int] = EXPOSURES) -> dict[str, np.ndarray]:
    """Tell episodes apart, each group as a mask of (epochs, episodes)."""
    cue = getattr(record.trace, "cue_episode", None)
    if cue is not None:
        cued = np.asarray(cue)[..., 0] >= 0
        both = {"uncued": ~cued, "cued": cued}
        return {name: here for name, here in both.items() if here.any()}
    last = int(record.exposure.max()) + 1
    after = sorted({min(exposure, last) for exposure in exposures})
    return {f"exposure {e}": record.exposure == e - 1 for e in after}
