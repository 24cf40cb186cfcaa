"""What settings need is known before anything is compiled; what cannot fit is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import reinstate
from reinstate.devices import Spread, over_seeds
from reinstate.errors import UserError
from reinstate.runs import size
from reinstate.runs.experiment import experiment_names, find_experiment
from reinstate.runs.size import Option, Part, in_bytes, memory_there_is, require_fits, require_room
from reinstate.settings import Settings
from spoken import Command, assert_refused
from tiny import TINY

LAPTOP = 8_000_000_000  # bytes


@pytest.fixture(autouse=True)
def laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every machine have the memory of a small one."""
    monkeypatch.setattr(size, "memory_there_is", lambda: (LAPTOP, 1))


def test_the_estimate_is_about_what_the_compiled_program_takes() -> None:
    learner, seeds = TINY.make_learner("epl2rl"), jnp.array(TINY.seed_range)
    state = over_seeds(learner.init, TINY.seeds)(seeds)
    compiled = over_seeds(learner.train_epoch, TINY.seeds).lower(state).compile()
    found: Any = compiled.memory_analysis()
    parts = ("temp", "argument", "output")
    taken = sum(getattr(found, f"{part}_size_in_bytes") for part in parts)
    taken *= len(jax.tree.leaves(state)[0].devices())  # the analysis is of one device
    exact, above = (
        TINY.seeds * sum(part.size for part in size._training(TINY, "epl2rl", exact=exact))
        for exact in (True, False)
    )
    assert taken / 1.5 < exact < 1.5 * taken
    assert exact < above


def changed(part: str, **changes: Any) -> Settings:
    return replace(TINY, **{part: replace(getattr(TINY, part), **changes)})


@pytest.mark.parametrize(
    ("settings", "how", "to_lower"),
    [
        (changed("network", hidden_size=100_000), {}, "--set network.hidden-size (100000)"),
        (changed("learner", lanes=10**8), {}, "--learner.lanes (100000000)"),
        (replace(TINY, first_seed=10**7, seeds=10**7), {}, "--seeds (10000000)"),
        (changed("task", repeats=10**8), {}, "--task.repeats (100000000)"),
        (changed("task", pulls=10**9), {}, "--task.pulls (1000000000)"),
        (TINY, {"candidates": 10**7}, "--trials (10000000)"),
        (
            changed("evaluation", epochs=10**8),
            {"trained": False, "judged": True},
            "--set evaluation.epochs (100000000)",
        ),
    ],
)
def test_what_cannot_fit_names_the_setting_that_is_too_large(
    settings: Settings, how: dict[str, Any], to_lower: str
) -> None:
    with pytest.raises(UserError, match=r"this needs about .* of memory") as refused:
        require_room(settings, "epl2rl", **how)
    assert f": lower {to_lower}" in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (changed("learner", epochs=2**31 - 1), "updates of the weights .* lower --learner.epochs"),
        (
            replace(
                changed("task", repeats=3 * 10**8),
                learner=replace(TINY.learner, episodes_per_update=9 * 10**8),
            ),
            "writes of an epoch are more than can be counted",
        ),
        (
            replace(changed("task", pulls=2000), learner=replace(TINY.learner, unroll=2000)),
            "learner.unroll = 2000 .* lower it to 1000 or less",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(settings: Settings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        require_room(settings, "epl2rl")


def test_an_evaluation_does_not_count_where_none_is_asked_for() -> None:
    require_room(changed("evaluation", epochs=10**8), "epl2rl")


@pytest.mark.parametrize("name", experiment_names())
def test_the_largest_presets_fit_a_laptop(name: str) -> None:
    """They were recorded on an accelerator with twenty times as much."""
    experiment = find_experiment(name)
    require_room(experiment.preset("paper"), experiment.agents[0], judged=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train barcode-bandits --learner.lanes 2000000000", "lower --learner.lanes (2000000000)"),
        ("train barcode-bandits --agent nobody", "unknown agent 'nobody'"),
        (
            "reproduce two-step --set evaluation.epochs=2000000000",
            "lower --set evaluation.epochs (20",
        ),
        ("reproduce all --seeds 900000", "barcode-bandits: this needs about "),
        ("tune barcode-bandits --trials 90000", "of memory, "),
        ("tune barcode-bandits --trials 1000000", "lower --trials or --rounds"),
        ("tune barcode-bandits --rounds 2000000000", "lower --trials or --rounds"),
        (
            "evaluate barcode-bandits/epl2rl --epochs 2000000000",
            "lower --set evaluation.epochs (20",
        ),
        (
            "memory-map barcode-bandits/epl2rl --epochs 2000000000",
            "lower --set evaluation.epochs (20",
        ),
        ("pretrain omniglot --memory.slots 2000000000", "lower --memory.slots (2000000000)"),
        ("pretrain omniglot --network.channels 800000 800000", "lower --network.channels (800000)"),
    ],
)
def test_what_cannot_fit_leaves_nothing_behind(
    command: Command, tmp_path: Path, line: str, message: str
) -> None:
    assert_refused(command(line), message)
    assert list(tmp_path.iterdir()) == []


def test_watching_is_sized_as_well(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "memory_there_is", lambda: (size.PROGRAM + 1, 1))
    assert_refused(command("watch barcode-bandits"), "of memory, ")


def test_a_notebook_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"lower --learner\.lanes"):
        reinstate.train(TINY.task, lanes=10**9, out=tmp_path / "x", quiet=True)
    assert list(tmp_path.iterdir()) == []


def test_each_accelerator_holds_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, options = [Part("arrays", 10**9)], [Option("--seeds", 8, 8)]
    monkeypatch.setattr(size, "memory_there_is", lambda: (2 * 10**9 + size.PROGRAM, 4))
    require_fits(parts, 8, options)
    with pytest.raises(UserError, match=r"about 3\.4 GB .* 3 GB of it for arrays"):
        require_fits(parts, 9, options)


def test_accelerators_that_share_lanes_hold_parts_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = replace(TINY, seeds=1, learner=replace(TINY.learner, lanes=4096))
    whole = sum(part.size for part in size._training(wide, "epl2rl", exact=True))
    monkeypatch.setattr(size, "memory_there_is", lambda: (size.PROGRAM + whole * 7 // 10, 2))
    monkeypatch.setattr(size, "_one_memory", lambda: False)
    with pytest.raises(UserError, match="of memory"):
        require_room(wide, "epl2rl")
    with pytest.raises(UserError, match="of memory"):
        require_room(wide, "epl2rl", spread=Spread(1, "lanes"))
    require_room(wide, "epl2rl", spread=Spread(2, "lanes"))


def test_a_container_may_take_less_than_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "CONTAINER", tmp_path / "memory.max")
    whole = memory_there_is()
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_there_is() == whole
    (tmp_path / "memory.max").write_text("123456789\n")
    assert memory_there_is() == (123456789, 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (12, "12 B"),
        (1.5e6, "1.5 MB"),
        (3.35e12, "3.35 TB"),
        (1.9e15, "1,900 TB"),
        (4e30, "4e+18 TB"),
    ],
)
def test_bytes_are_written_for_people(number: float, text: str) -> None:
    assert in_bytes(number) == text
