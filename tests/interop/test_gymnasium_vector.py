"""The vector environment: step by step what Gymnasium makes of single ones."""

from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import Error, InvalidAction, ResetNeeded  # noqa: E402

from reinstate.interop.gymnasium import ReinstateEnv, ReinstateVectorEnv  # noqa: E402
from reinstate.tasks.bandits import BarcodeBandits  # noqa: E402
from reinstate.tasks.base import World  # noqa: E402
from reinstate.tasks.two_step import EpisodicTwoStep  # noqa: E402
from test_early_end import UntilRewarded  # noqa: E402

SIZES: dict[str, Any] = {
    "num_arms": 2,
    "pulls": 3,
    "num_contexts": 2,
    "repeats": 2,
    "barcode_length": 4,
}
BANDIT = BarcodeBandits(**SIZES)
EARLY = UntilRewarded(**SIZES)
TWO_STEP = EpisodicTwoStep(uncued=2, cued=2, barcode_length=4)
LANES = 3
ID = "reinstate/BarcodeBandits-v0"


def singly(world: World, mode: str = "SameStep", **arguments: Any) -> Any:
    """Gymnasium's own vector environment, which steps one lane after the other."""
    makers = [lambda: ReinstateEnv(world, **arguments)] * LANES
    return gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=mode)


def make_vec(**settings: Any) -> Any:
    return gymnasium.make_vec(
        ID, num_envs=LANES, vectorization_mode="vector_entry_point", **settings
    )


def require_equal(ours: Any, theirs: Any) -> None:
    """The same keys, masks and numbers; arrays of arrays are stacked here."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for name in theirs:
            require_equal(ours[name], theirs[name])
    elif isinstance(theirs, tuple) or (np.asarray(theirs).dtype.kind == "O" and theirs is not None):
        for one, other in zip(ours, theirs, strict=True):
            require_equal(one, other)
    elif theirs is not None:
        np.testing.assert_array_equal(ours, theirs)
        assert not isinstance(theirs, np.ndarray) or ours.dtype == theirs.dtype
    else:
        assert ours is None or not np.any(ours)


@pytest.mark.parametrize("mode", ("SameStep", "NextStep"))
@pytest.mark.parametrize("per", ("epoch", "exposure"))
@pytest.mark.parametrize("world", (BANDIT, TWO_STEP, EARLY), ids=lambda w: type(w).__name__)
def test_lanes_are_what_single_environments_are(world: World, per: Any, mode: str) -> None:
    """Of a world whose episodes end early, lanes end at different times."""
    ours = ReinstateVectorEnv(world, LANES, per=per, last_step=True, autoreset_mode=mode)
    theirs = singly(world, mode, per=per, last_step=True)
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"]
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    require_equal(ours.reset(seed=5), theirs.reset(seed=5))
    generator, ends = np.random.default_rng(0), []
    for _ in range(30):
        actions = generator.integers(2, size=LANES)
        played = ours.step(actions)
        require_equal(played, theirs.step(actions))
        ends.append(played[2])
    assert 0 < np.mean(ends) < 1
    assert any(end.any() and not end.all() for end in ends) == (world is EARLY)
    if per == "exposure":
        options = {"new_epoch": True}
        require_equal(ours.reset(options=options), theirs.reset(options=options))
    require_equal(ours.reset(), theirs.reset())
    require_equal(ours.reset(seed=[1, 1, 2]), theirs.reset(seed=[1, 1, 2]))


def test_it_is_made_by_id_and_says_when_it_resets() -> None:
    envs = make_vec(**SIZES, last_step=True)
    assert type(envs) is ReinstateVectorEnv and envs.world == BANDIT and envs.num_envs == LANES
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    assert "autoreset_mode" not in ReinstateEnv.metadata
    seen, infos = envs.reset(seed=0)
    assert seen in envs.observation_space and infos["context"].shape == (LANES, 4)
    again = make_vec(**SIZES, last_step=True)
    np.testing.assert_array_equal(again.reset(seed=0)[0], seen)
    assert again.reset(seed=1)[0].tobytes() != seen.tobytes()
    firsts = [make_vec(**SIZES).reset()[0] for _ in range(4)]  # unseeded
    assert len({lane.tobytes() for first in firsts for lane in first}) > 1


def test_wrappers_of_gymnasium_know_it() -> None:
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(make_vec(**SIZES, per="exposure"))
    envs.reset(seed=0)
    played = [envs.step(np.zeros(LANES, int)) for _ in range(3)]
    np.testing.assert_array_equal(played[-1][-1]["episode"]["l"], [3] * LANES)
    total = np.sum([reward for _, reward, *_ in played], axis=0)
    np.testing.assert_array_equal(played[-1][-1]["episode"]["r"], total)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(Error, match="choose SAME_STEP or NEXT_STEP"):
        ReinstateVectorEnv(BANDIT, LANES, autoreset_mode="Disabled")
    envs = ReinstateVectorEnv(BANDIT, LANES)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step"):
        envs.step([0, 0, 0])
    with pytest.raises(Error, match="2 seeds for 3 environments: give one to each"):
        envs.reset(seed=[1, 2])
    envs.reset(seed=0)
    wrong: Any
    for wrong in ([0, 0], [0.0, 0.0, 1.0], ["0", "1", "0"], 1, [0, 2, 0], [0, -1, 0]):
        with pytest.raises(InvalidAction, match=r"one whole number from 0 to 1 .* shape \(3,\)"):
            envs.step(wrong)
    for settings in ({"num_arm": 3}, {"max_episode_steps": 5}):
        with pytest.raises(TypeError, match="unknown setting"):
            make_vec(**settings)


def test_every_lane_is_rendered() -> None:
    envs = ReinstateVectorEnv(BANDIT, LANES, render_mode="ansi")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before render"):
        envs.render()
    envs.reset(seed=3), envs.step([1, 0, 1])
    one = ReinstateEnv(BANDIT, render_mode="ansi")
    one.reset(seed=4), one.step(0)  # lane 1 has the seed 3 + 1
    texts = envs.render()
    assert texts is not None and len(texts) == LANES and texts[1] == one.render()
    silent = ReinstateVectorEnv(BANDIT, LANES)
    silent.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.render() is None
