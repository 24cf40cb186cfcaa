"""Both ways between gymnax and us: its wrappers drive our environments, our agents play its own."""

import inspect
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

gymnax = pytest.importorskip("gymnax")

from gymnax import wrappers  # noqa: E402
from gymnax.environments import environment, spaces  # noqa: E402
from gymnax.experimental import rollout  # noqa: E402

import reinstate  # noqa: E402
from reinstate import registry  # noqa: E402
from reinstate.agent import Network  # noqa: E402
from reinstate.interop.functional import Environment  # noqa: E402
from reinstate.interop.worlds import GymnaxWorld  # noqa: E402
from reinstate.tasks.bandits import BarcodeBandits  # noqa: E402

WORLD = BarcodeBandits(num_arms=3, pulls=2, num_contexts=3, repeats=2, barcode_length=4)
ENV = Environment(WORLD, last_step=True)
EPOCH = 12
KEY = jax.random.key(0)
KEYS = jax.random.split(KEY, EPOCH + 1)


def parameters(method: Any) -> list[str]:
    return [name for name in inspect.signature(method).parameters if name != "self"]


def test_calls_are_named_and_answered_as_gymnax_does() -> None:
    theirs, params = gymnax.make("CartPole-v1")
    methods = ("reset", "step", "step_env", "reset_env", "get_obs", "is_truncated")
    for name in (*methods, "is_terminated", "action_space", "observation_space"):
        base = getattr(environment.Environment, name)
        assert parameters(getattr(ENV, name)) == parameters(base), name
    assert isinstance(ENV.action_space(), spaces.Discrete)
    assert isinstance(ENV.observation_space(), spaces.Box)

    def answers(env: Any, params: Any) -> Any:
        _, state = env.reset(KEY, params)
        return env.step(KEY, state, 0, params), env.step_env(KEY, state, 0, params)

    ours, other = answers(ENV, ENV.default_params), answers(theirs, params)
    for mine, yours in zip(ours, other, strict=True):
        assert len(mine) == len(yours)
        for part, like in zip(mine[2:-1], yours[2:-1], strict=True):
            assert (part.shape, part.dtype) == (like.shape, like.dtype)
        assert set(yours[-1]) - {"discount"} <= set(mine[-1])


def play(env: Any) -> Any:
    """Return the results of all steps, and the last state."""

    def step(state: Any, chance: Any) -> tuple[Any, Any]:
        observation, state, *rest = env.step(chance[0], state, chance[1], ENV.default_params)
        return state, (observation, *rest)

    _, state = env.reset(KEY, ENV.default_params)
    return jax.lax.scan(step, state, (KEYS, jnp.arange(EPOCH + 1) % 3))


def test_wrappers_of_gymnax_wrap_our_environments() -> None:
    _, (observation, reward, terminated, truncated, _) = play(ENV)
    wrapped = wrappers.LogWrapper(wrappers.FlattenObservationWrapper(ENV))
    assert wrapped.observation_space(ENV.default_params).shape == ENV.obs_shape
    state, (*logged, more) = play(wrapped)
    jax.tree.map(
        np.testing.assert_array_equal, logged, [observation, reward, terminated, truncated]
    )
    assert more["returned_episode"].tolist() == terminated.tolist()
    assert state.returned_episode_returns == reward[:EPOCH].sum() > 0
    assert state.returned_episode_lengths == EPOCH
    sticky, _ = play(wrappers.StickyActionWrapper(ENV, 1.0))
    assert sticky.last_action == 0
    _, legacy = play(wrappers.LegacyStepAPIWrapper(ENV))
    np.testing.assert_array_equal(legacy[2], terminated)


def test_gymnax_rolls_our_environment_out() -> None:
    runner = rollout.RolloutWrapper(env=ENV, env_params={"max_steps_in_episode": EPOCH})
    assert runner.input_shape == ENV.obs_shape
    observation, _, reward, _, done, total = runner.batch_rollout(KEYS[:2], None)
    assert observation.shape == (2, EPOCH, *ENV.obs_shape)
    assert done[:, -1].all() and not done[:, :-1].any()
    np.testing.assert_array_equal(total[:, 0], reward.sum(axis=1))


def test_an_agent_of_ours_learns_in_an_environment_of_gymnax() -> None:
    env, params = gymnax.make("CartPole-v1")

    def lighter_or_heavier(key: jax.Array) -> Any:
        return params.replace(gravity=jax.random.uniform(key, minval=5.0, maxval=15.0))

    world = GymnaxWorld(
        env=env, vary=lighter_or_heavier, steps=30, num_contexts=3, repeats=2, barcode_length=4
    )
    assert (world.num_actions, world.observation_size) == (2, 4)
    trained = reinstate.train(world, epochs=3, lanes=4, network=Network(hidden_size=8), quiet=True)
    record = trained.record()
    length = np.asarray(record.played).sum(axis=-1)
    assert 8 <= length.min() < 20  # it falls, and not at once
    np.testing.assert_array_equal(np.asarray(record.reward).sum(axis=-1), length)
    assert np.isfinite(trained.rewards).all()


@pytest.mark.parametrize("name", ["Catch-bsuite", "BernoulliBandit-misc", "FourRooms-misc"])
def test_other_environments_of_gymnax_make_worlds(name: str) -> None:
    env, _ = gymnax.make(name)
    world = GymnaxWorld(env=env, steps=9, num_contexts=3, repeats=2, barcode_length=4)
    ours = Environment(world)
    _, state = ours.reset(KEY)
    observation, state, reward, _, _, info = ours.step(KEY, state, 1)
    assert observation.shape == (world.observation_size + 4,)
    assert np.isfinite(reward) and np.isnan(info["expected_reward"])


PAGE = Path(__file__).parents[2] / "docs/how-to/jax-environments.md"
BLOCK = re.compile(r"^```(?:python|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_all_code_of_the_page_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("stoa")
    known = {kind: dict(things) for kind, things in registry._registered.items()}
    monkeypatch.setattr(registry, "_registered", known)
    names: dict[str, Any] = {"__name__": "page"}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 6
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert names["rewards"].shape == (8,)
    assert names["trained"].rewards.shape == (2, 1)
    named = reinstate.train(
        names["CartPoles"](num_contexts=3, repeats=2), epochs=2, lanes=4, quiet=True
    )
    named.save(tmp_path / "run")
    again: Any = reinstate.load(tmp_path / "run")
    assert again.settings == named.settings and again.experiment.name == "cart-poles"
