"""A client that knows nothing of us: sb3-contrib's RecurrentPPO learns barcode bandits."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("sb3_contrib")

from reinstate.files import read_json  # noqa: E402
from reinstate.interop.gymnasium import IDS, ReinstateEnv  # noqa: E402
from reinstate.interop.sb3 import ReinstateVecEnv  # noqa: E402
from reinstate.tasks.bandits import BarcodeBandits  # noqa: E402

ROOT = Path(__file__).parents[2]
TASK = BarcodeBandits(
    num_arms=2, num_contexts=2, pulls=5, p_good=1.0, p_bad=0.0, barcode_length=2, repeats=4
)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "examples")
    return import_module("recurrent_ppo_sb3")


def test_its_own_checks_find_nothing() -> None:
    from stable_baselines3.common.env_checker import check_env

    for id in IDS:
        check_env(gymnasium.make(id, last_step=True, disable_env_checker=True).unwrapped)


def test_it_learns_to_stay_with_the_good_arm(example: Any, tmp_path: Path) -> None:
    """At chance an episode pays 2.5; with one pull to find the arm, 4.5."""
    out = tmp_path / "sb3.json"
    options = replace(example.Options(), seeds=(0,), steps=12_000, episodes=100, task=TASK, out=out)
    found = example.main(options)
    assert found["reward"]["mean"] > 4.0
    assert (found["chance"], found["without_memory"]) == (2.5, 4.5)
    recorded = read_json(out)
    assert recorded["reward"] == found["reward"] and recorded["packages"]["gymnasium"]


def test_the_recorded_run_is_well_above_chance() -> None:
    found = read_json(ROOT / "results" / "adapters" / "sb3.json")
    low, high = found["reward"]["ci95"]
    assert len(found["reward"]["per_seed"]) >= 3
    assert found["chance"] + 1 < low < high < found["without_memory"] + 0.1


def test_the_vector_environment_is_what_sb3_makes_of_single_ones() -> None:
    """Observations, rewards, ends and infos of both, seeded and not, through several epochs."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    settings: Any = {"per": "exposure", "last_step": True}
    ours: Any = ReinstateVecEnv(TASK, 3, **settings)
    theirs: Any = DummyVecEnv([lambda: ReinstateEnv(TASK, **settings)] * 3)
    assert ours.observation_space == theirs.observation_space and ours.get_attr("world")[2] == TASK
    for envs in (ours, theirs):
        envs.seed(5)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    generator = np.random.default_rng(0)
    for _ in range(60):
        actions = generator.integers(2, size=3)
        mine, other = ours.step(actions), theirs.step(actions)
        for one, same in zip(mine[:3], other[:3], strict=True):
            np.testing.assert_array_equal(one, same)
            assert one.dtype == same.dtype
        for info, same in zip(mine[3], other[3], strict=True):
            assert not same.pop("TimeLimit.truncated")
            assert info.keys() == same.keys()
            assert all(np.array_equal(info[name], same[name]) for name in info)
        for info, same in zip(ours.reset_infos, theirs.reset_infos, strict=True):
            assert info["context_id"] == same["context_id"]
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    with pytest.raises(AttributeError, match="lanes share world"):
        ours.set_attr("world", None)
