"""README's numbers are the recorded ones, and what the runs do not support is said on its page."""

import re
from pathlib import Path
from typing import Any

import pytest

from claim_tables import agreement
from fill_pages import BLOCK, NUMBER, fill
from recorded import read
from reinstate_paper import PAPER_EXPERIMENTS
from words import trained_before

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXT = " ".join(README.split())
CLOCK = 1053  # seconds that the paper preset took, in two calls: files have the last one's

# Claims of the paper that our runs do not support, and the words in which their page says so.
AT_CHANCE = "epl2rl-input is at chance (share of seeds)"
NONE_IS = "does not bring reward down to chance, here as in the other experiments: {value:.0%} of"
EXCEPTIONS: dict[str, dict[str, str]] = {
    "1-barcode-bandits": {AT_CHANCE: "that we chose, {value:.0%} of them are at chance"},
    "2-omniglot-bandits": {
        "l2rl-context fails where l2rl does not (its gain over chance, as a share of l2rl's)": (
            "keeps {value:.2f} of what L2RL gains over chance: {verdict}"
        ),
        "epl2rl's regret at exposure 1 is like gittins's (excess)": (
            "{value:.2f} more than that of Gittins indices"
        ),
        AT_CHANCE: NONE_IS,
    },
    "3-compositional-bandits": {
        "epl2rl's regret falls at every exposure (smallest relative fall)": (
            "exposure is {verdict}: at the last it falls by {value:.3f} of what it was"
        ),
        AT_CHANCE: NONE_IS,
    },
    "4-water-maze": {
        "epl2rl is close to optimal after one exposure (steps, over the least possible)": (
            "are needed: {value:.3f} times as many"
        ),
        AT_CHANCE: NONE_IS,
    },
    "5-two-step": {
        "epl2rl uses IMF on uncued episodes (weight, as a share of the largest)": (
            "its weight is {value:.3f} of the largest uncued"
        ),
        "epl2rl uses IMF on cued episodes (weight, as a share of the largest)": (
            "uncued and {value:.3f} cued"
        ),
        AT_CHANCE: "does not bring reward down to chance: {value:.0%} of runs are there",
    },
}


def recorded(name: str) -> Any:
    return read(name)


def prose_of(page: str) -> str:
    """What a page says beside its tables."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return " ".join(re.sub(r"<!-- .*? -->", "", BLOCK.sub("", text)).split())


def test_numbers_are_those_of_the_recorded_results() -> None:
    assert [found[1] for found in BLOCK.finditer(README)] == ["overview"]
    assert len(NUMBER.findall(README)) == 4
    assert fill(README) == README


def test_the_overview_has_every_experiment_and_counts_every_claim() -> None:
    (table,) = (found[0] for found in BLOCK.finditer(README))
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][2:]
    totals = recorded("summary.json")["totals"]
    counts = [[int(n) for n in row[-2].split(" of ")] for row in rows]
    assert [sum(each) for each in zip(*counts, strict=True)] == [
        totals["supported"],
        totals["claims"],
    ]
    for row, page in zip(rows, EXCEPTIONS, strict=True):
        assert (ROOT / re.findall(r"\((.*?)\)", row[1])[0]).name == f"{page}.md"
        *rewards, ceiling = map(float, row[2:6])
        assert max(rewards) < ceiling


def test_what_readme_says_in_words_is_so() -> None:
    record, again = recorded("summary.json"), recorded("replicate/summary.json")
    parts = record["experiments"]
    seeds = {len(part["agents"]["epl2rl"]["reward"]["per_seed"]) for part in parts.values()}
    assert f"mean over {min(seeds)} to {max(seeds)} seeds" in TEXT
    checks = [check for part in parts.values() for check in part["checks"]]
    verdicts = [check["verdict"] for check in checks if check["claim"] == AT_CHANCE]
    assert verdicts == ["contradicted"] * 5 and "Five of those contradicted are one" in TEXT
    assert agreement(record, again)[2] == 0 and "on other seeds no verdict is reversed" in TEXT
    without = [name for name, part in parts.items() if "l2rl" not in part["agents"]]
    assert without == ["compositional-bandits"]
    assert "does not mention; its agent without memory is L2RL+Context" in TEXT


def test_the_times_in_the_text_are_no_less_than_the_recorded_ones() -> None:
    files = [recorded(f"{name}/results.json") for name in PAPER_EXPERIMENTS]
    counted = sum(each["seconds"]["total"] + trained_before(each) for each in files)
    assert 0.8 * CLOCK < counted < CLOCK  # compiling what was interrupted is not recorded
    for page in ("results.md", "quickstart.md"):
        assert f"took {CLOCK} s" in prose_of(page)


@pytest.mark.parametrize("page", EXCEPTIONS)
def test_what_the_runs_do_not_support_is_said_with_its_number(page: str) -> None:
    checks = recorded(f"{page[2:]}/results.json")["checks"]
    others = {c["claim"]: c for c in checks if c["verdict"] != "supported"}
    assert others.keys() == EXCEPTIONS[page].keys()
    for claim, check in others.items():
        words = EXCEPTIONS[page][claim].format(value=check["value"], verdict=check["verdict"])
        assert words in prose_of(f"experiments/{page}.md")


def test_every_experiment_has_such_a_page() -> None:
    assert [page[2:] for page in EXCEPTIONS] == list(PAPER_EXPERIMENTS)
