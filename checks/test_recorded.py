"""Recorded results fit together, and belong to the presets that the program has."""

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from fill_pages import read
from reinstate import cli
from reinstate.analysis.verdicts import evaluation_error, over_seeds, without_nan
from reinstate.files import read_json
from reinstate.runs.candidates import preset_candidate
from reinstate.runs.conclusions import compare, optimum_of, read_results
from reinstate.runs.experiment import EXPERIMENTS
from reinstate.runs.search import ranked
from reinstate.runs.whole import summarise
from reinstate.settings import Settings, completed, differences, from_dict, to_dict
from reinstate_paper import PAPER_EXPERIMENTS
from reinstate_paper.margins import FAILS
from words import repeatable

RESULTS = Path(__file__).parents[1] / "results"
FOLDERS = (".", "replicate")  # the record, and the same on other seeds
# Settings that say how much is played, or how it is compiled, and not what.
HOW_MUCH = ("seeds", "learner.lanes", "learner.unroll", "evaluation.epochs")


def recorded(name: str) -> Any:
    return read(name)


def paper(name: str) -> Settings:
    return EXPERIMENTS[name].preset("paper")


def settings_of(name: str, file: str, folder: str = ".") -> Any:
    return completed(EXPERIMENTS[name].world, recorded(f"{folder}/{name}/{file}")["settings"])


def first_seed(folder: str) -> int:
    """The first seed, which is the same one in every experiment."""
    firsts = {settings_of(name, "results.json", folder)["first_seed"] for name in PAPER_EXPERIMENTS}
    (first,) = firsts
    return int(first)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_summary_is_that_of_the_recorded_results(folder: str) -> None:
    found = {name: recorded(f"{folder}/{name}/results.json") for name in PAPER_EXPERIMENTS}
    summary, made = recorded(f"{folder}/summary.json"), summarise(found, "")
    for part in ("experiments", "totals"):
        assert summary[part] == made[part]
    first = first_seed(folder)
    replicate = f" --first-seed {first}" if first else ""
    assert repeatable(summary["command"]) == f"reinstate reproduce all --preset paper{replicate}"


def test_the_whole_paper_takes_less_than_twenty_minutes() -> None:
    """On one H200; what a call before the one that finished had trained counts as well."""
    found = [recorded(f"{name}/results.json") for name in PAPER_EXPERIMENTS]
    before = 0.0
    for results in found:
        agents = results["agents"].values()
        trained = sum(agent["train_steps"] / agent["steps_per_second"] for agent in agents)
        before += max(0.0, trained - results["seconds"]["train"])
    assert recorded("summary.json")["totals"]["seconds"] + before < 20 * 60
    assert all("H200" in results["device"] for results in found)


def test_no_verdict_flips_in_the_replicate() -> None:
    first, second = (
        [read_results(RESULTS / f / name) for name in PAPER_EXPERIMENTS] for f in FOLDERS
    )
    found = compare(first, second)
    assert "FLIPS" not in [each.mark for each in found]
    for one, other in zip(first, second, strict=True):
        shared = {each.claim for each in found if each.experiment == one["experiment"]}
        assert {row["claim"] for row in other["checks"]} == shared
        # What the replicate does not judge is about agents that were not trained again.
        for row in one["checks"]:
            agent = row["claim"].partition(" ")[0]
            assert row["claim"] in shared or agent in one["agents"].keys() - other["agents"]


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_record_and_replicate_share_no_seed(name: str) -> None:
    seeds = []
    for folder in FOLDERS:
        results = recorded(f"{folder}/{name}/results.json")
        lists = [agent["seeds"] for agent in results["agents"].values()]
        assert lists == [lists[0]] * len(lists)  # agents are paired by seed
        settings = results["settings"]
        first, count = settings["first_seed"], settings["seeds"]
        assert lists[0] == list(range(first, first + count))
        assert settings["evaluation"]["seed"] not in lists[0]
        seeds.append({*lists[0]})
    assert not seeds[0] & seeds[1]


def test_records_name_no_folder_of_the_machine_that_made_them() -> None:
    for path in RESULTS.rglob("*.json"):
        assert not re.search(r'[ "]/\w', path.read_text(encoding="utf-8")), path


def test_recorded_commands_are_still_understood() -> None:
    for path in RESULTS.glob("*/**/*.json"):
        document = read_json(path)
        if "experiment" in document:
            program, *arguments = shlex.split(repeatable(document["command"]))
            assert program == "reinstate" and "--out" not in arguments
            # Contests and maps of memories were recorded when they had verbs of their own.
            if arguments[0] in cli.VERBS and arguments[1] != "rivals":
                cli.parse(arguments)


def test_recorded_results_name_where_they_come_from() -> None:
    for path in RESULTS.glob("*/results.json"):
        results = read_results(path)
        for name in ("command", "version", "commit", "device", "jax", "preset", "settings"):
            assert results.get(name), f"{path} lacks {name}"


def test_both_presets_judge_the_same_claims() -> None:
    paper, quick = (recorded(f"{f}summary.json")["experiments"] for f in ("", "quick/"))
    for name, part in paper.items():
        claims = [[check["claim"] for check in each["checks"]] for each in (part, quick[name])]
        assert claims[0] == claims[1] and len(claims[0]) == len({*claims[0]})
        assert (part["preset"], quick[name]["preset"]) == ("paper", "quick")


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_results_are_of_the_preset(name: str) -> None:
    preset = to_dict(paper(name))
    assert not differences(preset, settings_of(name, "results.json"))
    (other,) = differences(preset, settings_of(name, "results.json", "replicate"))
    assert re.fullmatch(r"first_seed: 0 → \d+", other)
    agents = recorded(f"{name}/results.json")["agents"]
    assert {*agents} == {*EXPERIMENTS[name].agents}


def test_there_are_seeds_enough() -> None:
    """Ten in Experiments 1 to 4, thirty in 5, twenty where some seeds learn and others do not."""
    seeds = {name: paper(name).seeds for name in PAPER_EXPERIMENTS}
    assert min(seeds.values()) >= 10 and seeds["two-step"] >= 30
    bimodal = ("barcode-bandits", "omniglot-bandits", "water-maze")
    assert min(seeds[name] for name in bimodal) >= 20


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_the_evaluations_own_error_is_recorded(name: str) -> None:
    """No interval is narrower, and means over epochs let anyone compute it again."""
    results = recorded(f"{name}/results.json")
    for agent in results["agents"].values():
        by_epoch, reward = agent["reward_by_epoch"], agent["reward"]
        shape = (results["settings"]["seeds"], results["settings"]["evaluation"]["epochs"])
        assert np.shape(by_epoch) == shape
        assert np.mean(by_epoch, axis=1) == pytest.approx(reward["per_seed"], abs=1e-4)
        assert reward["error"] == pytest.approx(evaluation_error(by_epoch), rel=0.01)
        low, high = reward["ci95"]
        assert high - low >= 2 * 1.959 * reward["error"]


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_the_preset_is_among_the_best_settings_of_its_search(name: str) -> None:
    found, preset = recorded(f"{name}/search.json"), paper(name)
    assert found["agent"] in ("l2rl", "l2rl-context") and found["preset"] == "paper"
    assert found["trials"][0]["setting"] == preset_candidate(preset.learner)._asdict()
    changed = differences(settings_of(name, "search.json"), to_dict(preset))
    # Experiment 3 has held classes out since.
    assert {line.partition(":")[0] for line in changed} <= {*HOW_MUCH, "task.trained_on"}
    own, best = found["trials"][0], ranked(found["trials"], found["agent"])[0]
    rewards: list[Any] = [each["agents"][found["agent"]]["reward"] for each in (own, best)]
    assert rewards[0] >= 0.99 * rewards[1]


def test_longer_embeddings_drown_l2rl_context() -> None:
    document = recorded("omniglot-bandits/long-embeddings.json")
    words = "l2rl-context fails where l2rl does not"
    (check,) = [check for check in document["checks"] if check["claim"].startswith(words)]
    assert check["verdict"] == "supported"
    assert_only_longer(document, "quick")


def test_much_training_overcomes_long_embeddings() -> None:
    document = recorded("omniglot-bandits/long-embeddings-paper.json")
    l2rl = recorded("omniglot-bandits/results.json")["agents"]["l2rl"]["reward"]["mean"]
    reward, chance = document["agents"]["l2rl-context"]["reward"], document["optimum"]["chance"]
    assert reward["ci95"][0] > chance + FAILS.size * (l2rl - chance)  # it does not fail
    assert reward["mean"] < l2rl
    assert_only_longer(document, "paper")


def assert_only_longer(document: Any, preset: str) -> None:
    """A preset's settings but for the length of embeddings, and how much is trained and judged."""
    assert document["preset"] == preset
    experiment = EXPERIMENTS["omniglot-bandits"]
    settings = completed(experiment.world, document["settings"])
    changed = differences(to_dict(experiment.preset(preset)), settings)
    changed = [line.partition(":")[0] for line in changed]
    assert {*changed} - {*HOW_MUCH, "learner.epochs"} == {"task.scale"}
    assert settings["task"]["scale"] == 11.3


def like_algorithms(checks: list[Any]) -> list[Any]:
    return [row for row in checks if "at exposure 1 is like" in row["claim"]]


def test_similarity_has_both_sides_where_seeds_are_not_kept() -> None:
    """The region became two-sided later: p follows from the recorded mean and interval."""
    grid = read_json(RESULTS / "multiverse" / "omniglot-bandits.json")["grid"]
    documents = [recorded(f"{folder}summary.json") for folder in ("", "quick/")]
    checks = [document["experiments"]["omniglot-bandits"]["checks"] for document in documents]
    for found in [*checks, *(cell["claims"] for cell in grid)]:
        rows = like_algorithms(found)
        assert len(rows) == 3
        for row in rows:
            low, high = row["region"]
            assert high == pytest.approx(0.26364, rel=1e-5) and low == -high
            error = (row["ci95"][1] - row["value"]) / stats.t.ppf(0.975, row["seeds"] - 1)
            outside = (abs(row["value"]) - high) / error
            p = 2 * stats.t.sf(abs(outside), row["seeds"] - 1)
            assert row["p"] == pytest.approx(p, rel=0.01)


@functools.cache
def files_of_results() -> list[Path]:
    return [path for path in sorted(RESULTS.rglob("*.json")) if "rules" in read_json(path)]


@functools.cache
def solved(name: str, task: Any) -> dict[str, Any]:
    """Compute each optimum once: results of several seeds are about the same task."""
    return optimum_of(EXPERIMENTS[name], task)


@pytest.mark.parametrize("path", files_of_results(), ids=lambda p: str(p.relative_to(RESULTS)))
def test_recorded_numbers_follow_the_rules_of_this_version(path: Path) -> None:
    """Means and intervals are those of the seeds, optima those of the task; nothing is above."""
    results = read_results(path)
    summaries = [*summaries_in([results["agents"], results["baselines"]])]
    assert len(summaries) > 10
    for each in summaries:
        assert_alike(each, without_nan(over_seeds(each["per_seed"], each.get("error"))))
    experiment = EXPERIMENTS[results["experiment"]]
    task = from_dict(
        experiment.world, completed(experiment.world, results["settings"])["task"], "task"
    )
    # Of large mazes the record has lower bounds too, which are solved no more.
    optimum = solved(experiment.name, task)
    assert_alike(_only(results["optimum"], optimum), optimum)
    assert results["alarms"] == []  # a bug in the task, the agent or the optimum


def _only(found: Any, known: Any) -> Any:
    """Return the numbers that are known by name."""
    if not isinstance(known, dict):
        return found
    return {name: _only(found[name], each) for name, each in known.items()}


def summaries_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and "per_seed" in value:
        yield from [value] if value["per_seed"] else []  # of contests, some means alone are known
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from summaries_in(each)


def assert_alike(ours: Any, theirs: Any) -> None:
    """Numbers but for rounding: recorded ones may have six digits."""
    flat, other = (jax.tree.leaves_with_path(each) for each in (ours, theirs))
    assert [place for place, _ in flat] == [place for place, _ in other]
    numbers = [each for _, each in other]
    assert [each for _, each in flat] == pytest.approx(numbers, rel=1e-5, abs=1e-6)
