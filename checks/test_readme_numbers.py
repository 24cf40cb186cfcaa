"""README's numbers are the recorded ones."""

from pathlib import Path
from typing import Any

import pytest

from fill_pages import BLOCK, fill
from readme_tables import trained_before
from reinstate.experiments import EXPERIMENTS
from reinstate.files import read_json

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXT = " ".join(README.split())
CLOCK = 1053  # seconds that the paper preset took, in two calls: files have the last one's

# Claims of the paper that our runs do not support, and the words in which README says so.
AT_CHANCE = "epl2rl-input is at chance (share of seeds)"
EXCEPTIONS: dict[str, dict[str, str]] = {
    "barcode-bandits": {AT_CHANCE: "Here {value:.0%} of runs are at chance in Experiment 1"},
    "omniglot-bandits": {
        "l2rl-context fails where l2rl does not (its gain over chance, as a share of l2rl's)": (
            "Ours does not: it keeps {value:.2f} of what L2RL gains"
        ),
        "epl2rl's regret at exposure 1 is like gittins's (excess)": (
            "but {value:.2f} more than Gittins indices"
        ),
        AT_CHANCE: "and none in the others",
    },
    "compositional-bandits": {
        "epl2rl's regret falls at every exposure (smallest relative fall)": (
            "every exposure is {verdict}: at the last it falls by {value:.3f} of what it was"
        ),
        AT_CHANCE: "and none in the others",
    },
    "water-maze": {
        "epl2rl is close to optimal after one exposure (steps, over the least possible)": (
            "after one exposure is {verdict}: it takes {value:.3f} times the fewest"
        ),
        AT_CHANCE: "and none in the others",
    },
    "two-step": {
        "epl2rl uses IMF on uncued episodes (weight, as a share of the largest)": (
            "its weight is {value:.3f} of the largest uncued"
        ),
        "epl2rl uses IMF on cued episodes (weight, as a share of the largest)": (
            "uncued and {value:.3f} cued"
        ),
        AT_CHANCE: "and none in the others",
    },
}


def recorded(name: str) -> Any:
    return read_json(ROOT / "results" / name)


def test_numbers_are_those_of_the_recorded_results() -> None:
    assert len(BLOCK.findall(README)) == 11
    assert fill(README) == README


def test_ceilings_in_the_text_are_the_recorded_ones() -> None:
    optimum = recorded("barcode-bandits/results.json")["optimum"]
    for words in (
        f"no agent can earn more than {optimum['without_memory']:.3f} per episode",
        f"own context, {optimum['own_memory']:.2f}",
        f"with memory of all contexts, at most {optimum['with_memory']:.2f}",
    ):
        assert words in TEXT
    optimum = recorded("two-step/results.json")["optimum"]
    uncued, cued, without = (
        f"{optimum[name]:.3f}".lstrip("0") for name in ("uncued", "episodic_cued", "counting_cued")
    )
    assert f"earns {uncued} uncued, {cued} cued with recall and {without} cued without" in TEXT


def test_numbers_of_experiment_3_in_the_text_are_the_recorded_ones() -> None:
    results = recorded("compositional-bandits/results.json")
    agent, task = results["agents"]["epl2rl"], results["settings"]["task"]
    small = agent["on_training_contexts"]
    for words in (
        f"no agent can earn more than {results['optimum']['without_memory']:.3f}. <!--",
        f"cleared the same agent falls back to {agent['probes']['memory cleared']['mean']:.2f}.",
        f"epochs of {task['judged_classes']} classes, new to them",
        f"finds the right class in {agent['retrieval']['mean']:.0%} of queries",
        f"in epochs of {task['num_classes']} classes it is"
        f" {small['retrieval']['mean']:.0%}, and reward {small['reward']['mean']:.2f}.",
    ):
        assert words in TEXT
    assert task["trained_on"] > 0  # they are new


def test_the_times_in_the_text_are_no_less_than_the_recorded_ones() -> None:
    files = [recorded(f"{name}/results.json") for name in EXPERIMENTS]
    counted = sum(each["seconds"]["total"] + trained_before(each) for each in files)
    assert 0.8 * CLOCK < counted < CLOCK  # compiling what was interrupted is not recorded
    for page in ("README.md", "docs/results.md", "docs/quickstart.md"):
        assert f"took {CLOCK} s" in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    seconds = recorded("quick/summary.json")["totals"]["seconds"]
    assert f"The quick preset took {seconds:.0f} s on two CPU cores" in TEXT


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_the_runs_do_not_support_is_said_with_its_number(name: str) -> None:
    checks = recorded(f"{name}/results.json")["checks"]
    others = {c["claim"]: c for c in checks if c["verdict"] != "supported"}
    assert others.keys() == EXCEPTIONS[name].keys()
    for claim, check in others.items():
        words = EXCEPTIONS[name][claim]
        assert words.format(value=check["value"], verdict=check["verdict"]) in TEXT
        assert check["value"] == 0 or "none" not in words
