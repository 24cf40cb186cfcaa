"""Recorded results fit together, and belong to the presets that the program has."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from readme_tables import trained_before
from recorded import command_of
from reinstate import cli
from reinstate.analysis.results import Results, read_document
from reinstate.experiments import EXPERIMENTS
from reinstate.experiments.memory_as_input import GOOD, gain
from reinstate.files import read_json
from reinstate.report.whole_paper import summarise
from reinstate.runs.provenance import repeatable
from reinstate.settings import Settings, completed, differences, to_dict
from reinstate.tuning.ranges import preset_candidate

RESULTS = Path(__file__).parents[1] / "results"


def recorded(name: str) -> Any:
    return read_json(RESULTS / name)


def paper(name: str) -> Settings:
    return EXPERIMENTS[name].preset("paper")


def settings_of(name: str, file: str) -> Any:
    return completed(EXPERIMENTS[name].world, recorded(f"{name}/{file}")["settings"])


def test_the_summary_is_that_of_the_recorded_results() -> None:
    found = {name: recorded(f"{name}/results.json") for name in EXPERIMENTS}
    summary, made = recorded("summary.json"), summarise(found, "")
    for part in ("experiments", "totals"):
        assert summary[part] == made[part]
    assert repeatable(summary["command"]) == "reinstate reproduce all --preset paper"


def test_the_whole_paper_took_less_than_a_quarter_of_an_hour() -> None:
    before = sum(trained_before(recorded(f"{name}/results.json")) for name in EXPERIMENTS)
    assert recorded("summary.json")["totals"]["seconds"] + before < 15 * 60
    assert recorded("quick/summary.json")["totals"]["seconds"] < 40 * 60


def test_records_name_no_folder_of_the_machine_that_made_them() -> None:
    for path in RESULTS.rglob("*.json"):
        assert not re.search(r'[ "]/\w', path.read_text()), path


def test_recorded_commands_are_still_understood() -> None:
    for path in RESULTS.glob("*/**/*.json"):
        document = read_json(path)
        if "experiment" in document:
            program, *arguments = shlex.split(command_of(document))
            assert program == "reinstate" and "--out" not in arguments
            cli.parse(arguments)


def test_recorded_results_name_where_they_come_from() -> None:
    for path in RESULTS.glob("*/results.json"):
        results = read_document(Results, path)
        for name in ("command", "version", "commit", "device", "jax", "preset", "settings"):
            assert results.get(name), f"{path} lacks {name}"


def test_both_presets_judge_the_same_claims() -> None:
    paper, quick = (recorded(f"{f}summary.json")["experiments"] for f in ("", "quick/"))
    for name, part in paper.items():
        claims = [[check["claim"] for check in each["checks"]] for each in (part, quick[name])]
        assert claims[0] == claims[1] and len(claims[0]) == len({*claims[0]})
        assert (part["preset"], quick[name]["preset"]) == ("paper", "quick")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_results_are_of_the_preset(name: str) -> None:
    assert not differences(settings_of(name, "results.json"), to_dict(paper(name)))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_preset_is_among_the_best_settings_of_its_search(name: str) -> None:
    found, preset = recorded(f"{name}/search.json"), paper(name)
    assert found["agent"] in ("l2rl", "l2rl-context") and found["preset"] == "paper"
    assert found["trials"][0]["setting"] == preset_candidate(preset.learner)._asdict()
    changed = differences(settings_of(name, "search.json"), to_dict(preset))
    assert {line.partition(":")[0] for line in changed} == {"seeds", "learner.lanes"}
    stands = found["standing"][found["agent"]]
    assert stands["preset"]["reward"] >= 0.99 * stands["best"]["reward"]


def test_memory_as_an_input_is_recorded_for_every_experiment() -> None:
    document = recorded("inputs.json")
    assert list(document["experiments"]) == list(EXPERIMENTS)
    for name, presets in document["experiments"].items():
        assert len(presets["quick"]["agents"]) == 5, name  # 2, 4, 8, 16 and all 50
        reward = recorded(f"{name}/results.json")["agents"]["epl2rl"]["reward"]
        assert presets["paper"]["epl2rl"]["reward"] == reward


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
        assert min(min(compressed(presets["quick"], size)) for presets in rows.values()) < GOOD


def test_longer_embeddings_drown_l2rl_context() -> None:
    document = recorded("omniglot-bandits/long-embeddings.json")
    check = document["checks"][5]
    assert check["claim"].startswith("l2rl-context fails where l2rl does not") and check["holds"]
    preset = to_dict(EXPERIMENTS["omniglot-bandits"].preset("quick"))
    assert differences(preset, document["settings"]) == ["task.scale: 1.0 → 11.3"]


def test_much_training_overcomes_long_embeddings() -> None:
    document = recorded("omniglot-bandits/long-embeddings-paper.json")
    l2rl = recorded("omniglot-bandits/results.json")["agents"]["l2rl"]["reward"]["mean"]
    reward = document["agents"]["l2rl-context"]["reward"]
    assert l2rl - 0.2 < reward["ci95"][0] and reward["mean"] < l2rl
    preset = to_dict(paper("omniglot-bandits"))
    assert differences(preset, document["settings"]) == ["task.scale: 1.0 → 11.3"]
