"""What was recorded of memory as an input, and what is said of it."""

from pathlib import Path
from typing import Any

from reinstate.files import read_json
from reinstate_paper import PAPER_EXPERIMENTS
from reinstate_paper.claims import does_as_well
from reinstate_paper.margins import MORE

RESULTS = Path(__file__).parents[1] / "results"


def recorded(name: str) -> Any:
    return read_json(RESULTS / name)


def test_memory_as_an_input_is_recorded_for_every_experiment() -> None:
    document = recorded("inputs.json")
    assert list(document["experiments"]) == list(PAPER_EXPERIMENTS)
    for name, presets in document["experiments"].items():
        assert len([n for n in presets["quick"]["agents"] if "input" in n]) == 5, (
            name
        )  # 2, 4, 8, 16 and all 50
        assert presets["paper"]["agents"]["epl2rl"]["reward"]["per_seed"]


def gain(row: Any, name: str) -> float | None:
    """An agent's share of what epL2RL gains over no memory; None where it was not run."""
    if name not in row["agents"]:
        return None
    (check,) = does_as_well(row["agents"], name)
    return 1 - check.evidence.value


def test_what_is_said_of_memory_as_an_input() -> None:
    """By README and docs/experiments/memory-as-input.md."""
    rows = recorded("inputs.json")["experiments"]

    def compressed(row: Any, *sizes: int) -> list[float]:
        shares = (gain(row, f"epl2rl-input-{size}") for size in sizes)
        return [share for share in shares if share is not None]

    for presets in rows.values():  # with more training
        row = presets["paper"]
        assert row["agents"]["epl2rl-input"]["reward"]["ci95"][0] > row["chance"] + 0.1
        assert compressed(row, 4, 8, 16) and min(compressed(row, 4, 8, 16)) > 0.9
    whole = {name: gain(presets["paper"], "epl2rl-input") or 0.0 for name, presets in rows.items()}
    assert {name for name, share in whole.items() if share > 0.9} == {
        "compositional-bandits",
        "two-step",
    }
    assert {name for name, share in whole.items() if share < 0} == {"barcode-bandits"}
    for name in ("barcode-bandits", "omniglot-bandits", "water-maze"):  # with little
        row = rows[name]["quick"]
        assert min(compressed(row, 2, 4)) > 0.85 and max(compressed(row, 8, 16)) < 0.5
        assert row["agents"]["epl2rl-input"]["reward"]["mean"] < row["chance"] + 0.1
    for size in (2, 4, 8, 16):  # none does as well as the gate everywhere
        assert (
            min(min(compressed(presets["quick"], size)) for presets in rows.values())
            < 1 - MORE.size
        )
