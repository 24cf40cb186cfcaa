"""The front door: train, look, judge, save and load in a notebook."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import reinstate
from reinstate import DND, RecordedResults, TrainedAgent, UserError
from reinstate.analysis.verdicts import count_verdicts, with_interval
from reinstate.files import read_json
from reinstate.runs.notebook import load, train
from reinstate.tasks.bandits import BarcodeBandits
from tiny import TINY, contents

RESULTS = Path(__file__).parents[2] / "results"
HOW: dict[str, Any] = {
    "seeds": 2,
    "network": TINY.network,
    "memory": TINY.memory,
    "learner": TINY.learner,
    "quiet": True,
}


@pytest.fixture(scope="module")
def trained() -> TrainedAgent:
    return train(TINY.task, "epl2rl", **HOW)


@pytest.fixture(scope="module")
def saved(trained: TrainedAgent, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "run"
    trained.save(path)
    return path


def test_what_is_not_given_comes_from_the_preset(trained: TrainedAgent) -> None:
    assert trained.settings == replace(TINY, evaluation=trained.settings.evaluation)
    assert trained.experiment.name == "barcode-bandits"
    assert trained.rewards.shape == (4, 2)  # epochs and seeds
    assert repr(trained).startswith("TrainedAgent(epl2rl in BarcodeBandits, 2 seeds, 4 epochs, ")


def test_it_is_what_the_command_trains(trained: TrainedAgent, tmp_path: Path) -> None:
    kept = train(TINY.task, "epl2rl", out=tmp_path / "run", **HOW)
    jax.tree.map(np.testing.assert_array_equal, trained.state.params, kept.state.params)
    before = contents(tmp_path)
    again = train(TINY.task, "epl2rl", out=tmp_path / "run", **HOW)  # continues: nothing to do
    assert len(again.metrics) == 4 and contents(tmp_path) == before


def test_a_run_comes_back_as_it_was(trained: TrainedAgent, saved: Path) -> None:
    back = load(saved)
    assert isinstance(back, TrainedAgent)
    assert (back.agent, back.settings, back.metrics) == (
        "epl2rl",
        trained.settings,
        trained.metrics,
    )
    np.testing.assert_array_equal(back.record().action, trained.record().action)
    assert back.evaluate()["reward"] == trained.evaluate()["reward"]
    with pytest.raises(UserError, match="already holds a run"):
        trained.save(saved)


def test_it_plays_in_another_world(trained: TrainedAgent) -> None:
    longer = replace(TINY.task, pulls=5)
    assert trained.record(longer).action.shape[-1] == 5
    player = trained.player(seed=1)
    assert player.value_size == TINY.network.hidden_size


def test_names_stand_for_worlds(trained: TrainedAgent) -> None:
    how = {name: value for name, value in HOW.items() if name != "learner"}
    with pytest.raises(UserError, match="did you mean barcode-bandits"):
        train("barcode-bandit", "epl2rl", **how)
    with pytest.raises(UserError, match="a world or the name of an experiment, not 3"):
        train(3, "epl2rl", **how)  # type: ignore[arg-type]
    found = train("barcode-bandits", "l2rl", epochs=1, lanes=1, **{**how, "seeds": 1})
    assert found.settings.task == BarcodeBandits() and found.rewards.shape == (1, 1)


def test_an_evaluation_as_tables(trained: TrainedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    record = trained.record()
    steps = trained.steps()
    assert len(steps) == record.reward.size
    assert list(steps.columns[:6]) == ["seed", "epoch", "episode", "step", "context", "exposure"]
    one = steps[(steps.seed == 1) & (steps.epoch == 2) & (steps.episode == 4)]
    np.testing.assert_array_equal(one.reward, record.reward[1, 2, 4])
    np.testing.assert_array_equal(one.exposure, np.repeat(record.exposure[1, 2, 4], 3))
    assert steps.r.mean() == pytest.approx(record.report["r"].mean(), abs=1e-6)
    known = steps[steps.exposure > 0]
    assert (known.distance.abs() < 1e-5).all()  # barcodes come back exactly
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = trained.steps()
    assert isinstance(plain, dict) and [*plain] == [*steps.columns]
    assert all(column.shape == (record.reward.size,) for column in plain.values())


def test_weights_and_a_card_are_enough_for_others(trained: TrainedAgent, tmp_path: Path) -> None:
    trained.save(tmp_path / "run", weights_only=True)
    names = ["README.md", "config.json", "weights.safetensors"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == names
    back = load(tmp_path / "run")
    assert isinstance(back, TrainedAgent) and back.metrics == []
    np.testing.assert_array_equal(back.record().action, trained.record().action)


def test_the_card_of_a_run(trained: TrainedAgent, saved: Path, command: Any) -> None:
    _, front, text = (saved / "README.md").read_text().split("---\n", 2)
    card, reward = json.loads(front), trained.evaluate()["reward"]
    assert card["library_name"] == "reinstate"
    assert {"reinforcement-learning", "barcode-bandits", "epl2rl"} <= set(card["tags"])
    (metric,) = card["model-index"][0]["results"][0]["metrics"]
    assert metric["value"] == with_interval(reward) and "over seeds (2)" in metric["name"]
    assert metric["value"] in text and "| memory.capacity | 6 |" in text
    watched, line, *_ = text.partition("console\n")[2].replace("reinstate ", "").splitlines()
    assert command(watched.replace("FOLDER", str(saved))).code == 0
    assert command(f"{line} --out again").code == 0
    saved_too = read_json(Path("again/config.json"))["config"]
    assert saved_too == read_json(saved / "config.json")["config"]
    assert "Not evaluated yet." in Path("again/README.md").read_text()


def test_recorded_results_are_objects() -> None:
    found = load(RESULTS / "barcode-bandits")
    assert isinstance(found, RecordedResults)
    assert found.rewards()["epl2rl"].shape == (20,) and found.rewards()["epl2rl"].min() > 8
    assert found.settings == found.experiment.preset("paper")
    assert "barcode-bandits, paper preset: epl2rl 8.2" in repr(found)
    counted = count_verdicts(found.checks)
    assert 0 < counted["supported"] < counted["claims"] and counted["ours"] > 0
    said = f"; {counted['supported']} of {counted['claims']} claims of the paper supported, "
    assert said in repr(found)
    assert found.figure().axes and found.figure("regret").axes
    with pytest.raises(UserError, match="'maze' is no figure of it: training-curves"):
        found.figure("maze")


def test_sinks_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="track needs out"):
        train(TINY.task, "l2rl", track=["tensorboard"], **HOW)


def test_a_memory_without_a_name_is_never_saved_as_something_else(tmp_path: Path) -> None:
    """A subclass used to come back from disk as a plain DND without a word."""

    @dataclass(frozen=True)
    class Forgetful(DND):
        share: float = 0.5

    forgetful = {**HOW, "memory": Forgetful(capacity=6)}
    with pytest.raises(UserError, match=r'memory Forgetful has no name .*register\("memory"'):
        train(TINY.task, "l2rl", out=tmp_path / "run", **forgetful)
    assert not (tmp_path / "run").exists()


def test_a_world_without_an_experiment(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Mine(BarcodeBandits):
        """Bandits of mine."""

    world = Mine(num_arms=3, pulls=3, num_contexts=3, repeats=2, barcode_length=4)
    how = {name: value for name, value in HOW.items() if name != "memory"}
    found = train(world, "epl2rl", **how)
    assert found.settings.memory == DND(capacity=6) and found.rewards.shape == (4, 2)
    assert found.experiment.title == "Mine"
    with pytest.raises(UserError, match=r'task Mine has no name .*register\("task", NAME, Mine\)'):
        found.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_package_offers_all_this_at_its_top() -> None:
    assert reinstate.train is train and reinstate.load is load
    assert set(reinstate.__all__) <= set(dir(reinstate))
    for name in reinstate.__all__:
        assert getattr(reinstate, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        reinstate.trian  # noqa: B018
