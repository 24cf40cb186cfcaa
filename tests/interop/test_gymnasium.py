"""Gymnasium environments: Gymnasium's own checks, both granularities, refusals."""

import copy
import pickle
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.error import Error, InvalidAction, ResetNeeded, UnsupportedMode  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

from reinstate.errors import UserError  # noqa: E402
from reinstate.files import read_json  # noqa: E402
from reinstate.interop import lanes  # noqa: E402
from reinstate.interop.gymnasium import IDS, ReinstateEnv  # noqa: E402
from reinstate.tasks.bandits import BarcodeBandits  # noqa: E402
from reinstate.tasks.two_step import EpisodicTwoStep  # noqa: E402

BANDIT: dict[str, Any] = {
    "num_arms": 3,
    "pulls": 4,
    "num_contexts": 3,
    "repeats": 2,
    "barcode_length": 4,
}
SMALL: dict[str, dict[str, Any]] = {
    "reinstate/BarcodeBandits-v0": BANDIT,
    "reinstate/OmniglotBandits-v0": {"num_arms": 3, "pulls": 4, "num_contexts": 3, "repeats": 2},
    "reinstate/CompositionalBandits-v0": {"num_classes": 4, "repeats": 2, "pulls": 3},
    "reinstate/WaterMaze-v0": {"num_contexts": 3, "repeats": 2, "steps": 4, "height": 3},
    "reinstate/TwoStep-v0": {"uncued": 3, "cued": 2, "barcode_length": 4},
}
ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "how-to" / "gymnasium.md", ROOT / "results" / "adapters"
GRANULARITIES = ("epoch", "exposure")


def bandit(**arguments: Any) -> Any:
    return ReinstateEnv(BarcodeBandits(**BANDIT), **arguments)


def play(env: Any, actions: list[int]) -> list[Any]:
    return [env.step(action) for action in actions]


@pytest.mark.parametrize("last_step", (False, True))
@pytest.mark.parametrize("per", GRANULARITIES)
@pytest.mark.parametrize("id", SMALL)
def test_the_checks_of_gymnasium_find_nothing(id: str, per: str, last_step: bool) -> None:
    """Warnings are errors here."""
    env = gymnasium.make(id, per=per, last_step=last_step, **SMALL[id]).unwrapped
    check_env(env)
    space = env.observation_space
    assert space.dtype == np.float32 and np.abs([space.low, space.high]).max() == 1
    seen, _ = env.reset(seed=5)
    over = False
    while not over:
        assert seen in space
        seen, _, over, truncated, _ = env.step(env.action_space.sample())
        assert not truncated


def test_every_id_has_small_settings_here() -> None:
    assert SMALL.keys() == IDS.keys()


def test_an_id_can_name_the_module_that_registers_it() -> None:
    env = gymnasium.make("reinstate.interop.gymnasium:reinstate/WaterMaze-v0", width=np.int64(3))
    assert env.unwrapped.world.width == 3 and type(env.unwrapped.world.width) is int
    assert env.spec.id == "reinstate/WaterMaze-v0"
    assert gymnasium.make(env.spec).unwrapped.world == env.unwrapped.world


@pytest.mark.parametrize(
    ("settings", "most"), [({}, 1000), ({"per": "exposure"}, 10), ({"num_contexts": 30}, 3000)]
)
def test_the_spec_tells_how_long_an_episode_is(settings: Any, most: int) -> None:
    """Also of episodes longer than the paper's, which no time limit cuts short."""
    env = gymnasium.make("reinstate/BarcodeBandits-v0", **settings)
    assert env.spec.max_episode_steps == most
    timed = gymnasium.wrappers.TimeAwareObservation(env)
    timed.reset(seed=0)
    for step in range(most):
        _, _, terminated, truncated, _ = timed.step(0)
        assert (terminated, truncated) == (step == most - 1, False)


def test_by_default_worlds_are_the_paper_s() -> None:
    sizes = {id: gymnasium.make(id).unwrapped.environment.default_params for id in IDS}
    steps = [params.max_steps_in_episode for params in sizes.values()]
    assert steps == [1000, 1000, 10_000, 2000, 200]


def test_an_epoch_is_one_episode() -> None:
    env = bandit(last_step=True)
    _, info = env.reset(seed=1)
    assert info.keys() == {"context", "context_id", "exposure", "new_episode", "new_epoch"}
    assert (info["exposure"], info["new_episode"], info["new_epoch"]) == (0, True, True)
    seen, rewards, over, _, infos = zip(*play(env, [0, 1, 2, 0] * 6), strict=True)
    assert over == (False,) * 23 + (True,)
    assert [info["new_episode"] for info in infos] == ([False] * 3 + [True]) * 5 + [False] * 4
    assert not any(info["new_epoch"] for info in infos)
    contexts = [info["context_id"] for info in (info, *infos[3:-1:4])]
    assert sorted(contexts) == [0, 0, 1, 1, 2, 2]
    where = env.environment.layout
    np.testing.assert_array_equal(seen[5][where["context"]], infos[5]["context"])
    np.testing.assert_array_equal(seen[5][where["action"]], [0, 1, 0])
    assert [s[where["reward"]] for s in seen] == list(rewards)
    assert [s[where["new_episode"]] for s in seen] == [info["new_episode"] for info in infos]


def test_an_exposure_is_one_episode_and_the_epoch_goes_on() -> None:
    env = bandit(per="exposure")
    met: list[int] = []
    for number in range(6):
        _, info = env.reset(seed=1 if number == 0 else None)
        assert info["new_epoch"] == (number == 0) and info["new_episode"]
        assert info["exposure"] == met.count(info["context_id"])
        met.append(info["context_id"])
        assert [over for _, _, over, _, _ in play(env, [0] * 4)] == [False] * 3 + [True]
    _, info = env.reset()  # the epoch is over
    assert info["new_epoch"] and sorted(met) == [0, 0, 1, 1, 2, 2]
    env.step(0)
    assert not env.reset()[1]["new_epoch"]  # an exposure may be left early
    assert env.reset(options={"new_epoch": True})[1]["new_epoch"]
    assert not env.reset(options={"new_epoch": False})[1]["new_epoch"]
    assert env.reset(seed=1)[1]["new_epoch"]


def test_both_granularities_play_the_same_task() -> None:
    """Of two-step, whose cued episodes pay what earlier ones of the epoch paid."""
    world = EpisodicTwoStep(uncued=3, cued=3, barcode_length=4, p_common=1.0, p_high=0.5, p_low=0.5)
    env = ReinstateEnv(world, per="exposure")
    paid: dict[int, float] = {}
    for number in range(6):
        _, info = env.reset(seed=1 if number == 0 else None)
        *_, (_, reward, *_) = play(env, [0, 0])
        if number < 3:
            paid[number] = reward
        else:
            assert reward == paid[info["context_id"]]
    assert len({*paid.values()}) == 2, "choose another seed, which pays 0 and 1"


def test_seeds_repeat_everything_and_streams_go_on_differently() -> None:
    env = bandit(last_step=True)

    def stream(seed: int | None) -> bytes:
        seen = [env.reset(seed=seed)[0]] + [out[0] for out in play(env, [0, 1, 2, 0] * 6)]
        return np.stack(seen).tobytes()

    first, second = stream(7), stream(None)
    assert (stream(7), stream(None)) == (first, second)
    assert len({first, second, stream(8), stream(None)}) == 4
    unseeded = [bandit().reset()[0].tobytes() + bandit().reset()[0].tobytes() for _ in range(8)]
    assert len({*unseeded}) > 1


def test_environments_of_equal_settings_share_what_is_compiled() -> None:
    compiled: Any = lanes._reset
    bandit(last_step=True).reset()
    before = compiled._cache_size()
    bandit(last_step=True).reset()
    assert compiled._cache_size() == before


def test_copies_go_on_alike() -> None:
    env = bandit(last_step=True)
    env.reset(seed=0), env.step(1)
    copies = env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    played = [np.stack([out[0] for out in play(each, [0] * 9)]) for each in copies]
    np.testing.assert_array_equal(played[0], played[1])
    np.testing.assert_array_equal(played[0], played[2])
    seen, *_ = env.step(0)
    seen[:] = 9  # the caller's own
    assert env.step(0)[0].max() <= 1


def test_worlds_that_agents_are_judged_in() -> None:
    env = gymnasium.make("reinstate/OmniglotBandits-v0", evaluation=True)
    assert env.unwrapped.world.classes == "evaluation"


@pytest.mark.parametrize(
    "action", (-1, 3, 1.0, "1", None, True + 0.5, np.array([1]), np.float32(1))
)
def test_wrong_actions_are_refused(action: Any) -> None:
    env = bandit()
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="choose a whole number from 0 to 2"):
        env.step(action)
    env.step(np.array(2, np.uint8))


def test_steps_out_of_turn_are_refused() -> None:
    env = bandit(per="exposure", render_mode="ansi")
    for call in (lambda: env.step(0), env.render):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) before"):
            call()
    env.reset(seed=0), play(env, [0] * 4)
    with pytest.raises(ResetNeeded, match=r"the episode is over: call reset\(\)"):
        env.step(0)
    env.reset()
    env.step(0)


def test_wrong_options_are_refused() -> None:
    for env, option in ((bandit(per="exposure"), "newepoch"), (bandit(), "new_epoch")):
        with pytest.raises(Error, match='the only option is new_epoch, with per="exposure"'):
            env.reset(options={option: False})
    with pytest.raises(Error, match=r"[Ss]eed"):
        bandit().reset(seed=-1)


def test_wrong_settings_are_refused() -> None:
    id = "reinstate/BarcodeBandits-v0"
    with pytest.raises(TypeError, match="unknown setting 'num_arm': did you mean num_arms"):
        gymnasium.make(id, num_arm=5)
    with pytest.raises(TypeError, match="unknown setting 'laststep': did you mean last_step"):
        gymnasium.make(id, laststep=True)
    with pytest.raises(UserError, match="pulls: Expected int, got str"):
        gymnasium.make(id, pulls="10")
    with pytest.raises(ValueError, match="choose epoch or exposure"):
        gymnasium.make(id, per="pull")
    with pytest.raises(UnsupportedMode, match="choose rgb_array, ansi or human"):
        ReinstateEnv("barcode-bandits", render_mode="png")
    with pytest.raises(UserError, match="did you mean barcode-bandits"):
        ReinstateEnv("barcode-bandit")


def test_worlds_of_your_own() -> None:
    assert ReinstateEnv(BarcodeBandits, num_arms=4).world.num_actions == 4
    world = ReinstateEnv(BarcodeBandits(pulls=3), num_arms=4).world
    assert world == BarcodeBandits(num_arms=4, pulls=3)


def test_without_gymnasium_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("reinstate.interop.gymnasium")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=re.escape('pip install "reinstate[gym]"')):
        import_module("reinstate.interop.gymnasium")


def test_the_page_runs_and_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```$", page, re.M | re.S)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert len(blocks) == 7 and names["env"].unwrapped.world.process == "urn"
    drawn = re.search(r"^context 4, .*?(?=^```$)", page, re.M | re.S)
    assert drawn is not None and drawn[0] in capsys.readouterr().out


def test_the_page_says_what_was_recorded() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    rows = read_json(RESULTS / "gymnasium-vector.json")["steps_per_second"]
    times, speeds = ([row["times"] for row in rows], [row["vector"]["median"] for row in rows])
    assert min(times) >= 20 and {row["id"] for row in rows} == IDS.keys()
    assert f"{min(times):.0f} to {max(times):.0f} times as many steps per second" in page
    assert f"{min(speeds) / 1000:.0f},000 to {max(speeds) / 1000:.0f},000" in page
    found = read_json(RESULTS / "sb3.json")
    low, high = found["reward"]["ci95"]
    earned = (
        f"earns {found['reward']['mean']:.2f} per exposure (95% interval {low:.2f} to {high:.2f}"
    )
    assert earned in page and f"chance is {found['chance']:.2f}" in page
    assert f"without memory {found['without_memory']:.2f}" in page
    assert f"with memory at most {found['with_memory']:.2f}" in page


def test_x64_changes_no_stream() -> None:
    """Observations stay float32 and the same, whatever the process has set."""
    env = bandit(last_step=True)
    before = env.reset(seed=3)[0]
    with jax.enable_x64(True):
        after = bandit(last_step=True).reset(seed=3)[0]
    assert after.dtype == np.float32
    np.testing.assert_array_equal(before, after)


def test_a_person_sees_text_and_no_window(capsys: pytest.CaptureFixture[str]) -> None:
    env = gymnasium.make("reinstate/WaterMaze-v0", render_mode="human")
    env.reset(seed=0)
    first = capsys.readouterr().out
    env.step(0)
    assert first.strip() and capsys.readouterr().out.strip() and env.render() is None
