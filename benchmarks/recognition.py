"""Recognition: what each of its parts is worth, alone, together, and when it is taken away.

    python benchmarks/recognition.py                                # the quick preset, a CPU
    python benchmarks/recognition.py --preset paper --seeds 10      # the paper preset, a GPU

The agent of every cell is trained and judged like those of `reinstate reproduce`. A call that was
ended is continued by the same call: see cells.py.
"""

import sys
from pathlib import Path
from typing import Any

import tyro
from cells import Options, Variant, fill

from reinstate.errors import UserError
from reinstate.learner import TrainState
from reinstate.runs.judge import Evaluator

# The paper's agent, by the new agent's code.
NOTHING: dict[str, Any] = {
    "similarity": False,
    "sharpening": False,
    "once": False,
    "neighbours": 1,
    "merge": "none",
}
EVERY_CUE = {"similarity": True, "margin": True, "age": True, "emptiness": True}


def alone(**settings: Any) -> Variant:
    return Variant("epl2rl-recognition", recognition={**NOTHING, **settings})


def agent(**settings: Any) -> Variant:
    return Variant("epl2rl-recognition", recognition=settings)


VARIANTS = {
    "paper": Variant(),
    "recognition": agent(),
    "similarity": alone(similarity=True),
    "margin": alone(margin=True),
    "age": alone(age=True),
    "emptiness": alone(emptiness=True),
    "every cue": alone(**EVERY_CUE),
    "null slot": alone(null_slot=True),
    "every cue, null slot": alone(**EVERY_CUE, null_slot=True),
    "once": alone(once=True),
    "10 neighbours": alone(neighbours=10),
    "sharpening": alone(neighbours=10, sharpening=True),
    "merging": alone(merge="mean"),
    "similarity, merging": alone(similarity=True, merge="mean"),
    "without similarity": agent(similarity=False),
    "without sharpening": agent(sharpening=False, neighbours=1),
    "without merging": agent(merge="none"),
    "on every step": agent(once=False),
    "with every cue": agent(**EVERY_CUE),
    "with a null slot": agent(null_slot=True),
    # Ways to consolidate; only with drawings do keys ever differ within a context.
    "replacing": alone(merge="replace"),
    "newest within reach": alone(recall="newest"),
    "3 neighbours": alone(neighbours=3),
}
DEFAULT = Options(
    experiments=("barcode-bandits", "omniglot-bandits", "water-maze"),
    out=Path("results/recognition/parts.json"),
    variants=tuple(VARIANTS)[:20],
)


def scores(variant: str, evaluator: Evaluator, state: TrainState) -> dict[str, Any]:
    """Keep reward, reward at the first exposure, retrieval, and the slots that were used."""
    verdict = evaluator.verdict(state)
    cell: dict[str, Any] = {
        "reward": verdict["reward"],
        "first_exposure": _first(verdict),
        "r_gate": verdict["r_gate"],
        "slots_used": verdict["slots_used"],
        "reach": getattr(evaluator.settings.memory, "reach", 0.0),
    }
    return cell | {"retrieval": verdict["retrieval"]} if "retrieval" in verdict else cell


def _first(verdict: Any) -> Any:
    """Return the mean reward per episode of contexts that are met for the first time."""
    by_exposure = verdict.get("by_exposure")
    return by_exposure and by_exposure["reward"]["mean"][0]


if __name__ == "__main__":
    try:
        fill(tyro.cli(Options, default=DEFAULT, description=__doc__), VARIANTS, scores)
    except UserError as error:
        sys.exit(f"recognition: {error}")
