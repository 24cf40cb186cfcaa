"""A sweep's runs: how many, under which names, with which settings; and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from reinstate.agent import AGENTS
from reinstate.errors import UserError
from reinstate.runs import jobs as module
from reinstate.runs.jobs import Asked, plan, read_file
from reinstate.settings import read_set, to_dict
from reinstate_paper.barcode_bandits import QUICK

FILE = """
experiments = ["barcode-bandits", "two-step"]
agents = ["epl2rl", "l2rl"]
seeds = 5
first-seed = 10
seeds-per-run = 2
retries = 2
[settings]
learner.learning-rate = [1e-3, 3e-3]
"learner.epochs" = 7
"""
NAMES = [
    "barcode-bandits-l2rl-lanes=4-seeds0-1-5c31d204",
    "barcode-bandits-l2rl-lanes=4-seed2-24e10610",
    "barcode-bandits-l2rl-lanes=8-seeds0-1-a1dcb2c8",
    "barcode-bandits-l2rl-lanes=8-seed2-f5c2dab5",
]


@pytest.fixture(autouse=True)
def spacious(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fits is asked of JAX, which takes its time."""
    monkeypatch.setattr("reinstate.runs.size.require_room", lambda *what, **how: None)


def asked(**what: Any) -> Asked:
    few: Any = {"experiments": ("barcode-bandits",), "agents": ("l2rl",), "seeds": 3}
    return Asked(**{**few, **what})


def write(folder: Path, text: str) -> Path:
    (folder / "sweep.toml").write_text(text)
    return folder / "sweep.toml"


def test_a_file_is_a_product(tmp_path: Path) -> None:
    found = Asked(**read_file(write(tmp_path, FILE)))
    assert found.retries == 2
    jobs = plan(found)
    assert len(jobs) == len({job.name for job in jobs}) == 2 * 2 * 2 * 3
    job = jobs[-1]
    assert (job.experiment, job.agent, job.preset) == ("two-step", "l2rl", "quick")
    assert job.options == {"learner.learning-rate": 3e-3, "learner.epochs": 7}
    assert job.settings["learner"]["learning_rate"] == 3e-3
    assert [job.settings[name] for name in ("seeds", "first_seed")] == [1, 14]  # the last of five
    assert [job.settings["seeds"] for job in jobs[:3]] == [2, 2, 1]


def test_names_stay_the_same() -> None:
    """Folders of sweeps that were begun by other versions have to be found again."""
    lanes = asked(seeds_per_run=2, settings={"learner.lanes": (4, 8)})
    assert [job.name for job in plan(lanes)] == NAMES


def test_all_else_is_the_presets(tmp_path: Path) -> None:
    (job,) = plan(Asked(experiments=("barcode-bandits",), agents=("epl2rl",)))
    assert job.settings == to_dict(QUICK)
    names = {job.agent for job in plan(Asked(experiments=("barcode-bandits",)))}
    assert names == {"epl2rl", "l2rl", "l2rl-context", "epl2rl-input"}


def test_long_and_odd_values_make_short_and_plain_names() -> None:
    found = module._name(
        asked(settings={"a.x": (1, 2)}), "e", "a" * 200, {"a.x": "../ b"}, range(1)
    )
    assert len(found) <= 130 and found[-9] == "-"
    odd = module._name(asked(settings={"a.x": (1, 2)}), "e", "a", {"a.x": "../ b"}, range(1))
    assert odd.startswith("e-a-x=.._b-seed0-")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"experiments": ()}, "needs experiments"),
        ({"experiments": ("barcode-bandit",)}, "did you mean barcode-bandits?"),
        ({"settings": {"learner.lans": (3,)}}, "'learner.lans': did you mean learner.lanes?"),
        ({"settings": {"learner.lanes": ()}}, "nothing to choose from"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    what: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module.size, "require_room", lambda settings, agent, **_: AGENTS.find(agent)
    )
    with pytest.raises(UserError) as error:
        plan(asked(**{"seeds_per_run": 1, **what}))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiments = 3", "sweep.toml.experiments: Expected array, got int"),
        ("seed = 2", "sweep.toml has unknown fields: seed"),
        ("[settings]\nlearner.lanes = [[1]]", "got array"),
        ("experiments = [", "is no TOML file"),
        ("a = " + "[" * 5000, "is no TOML file"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_file(write(tmp_path, text))
    assert message in str(error.value)


@pytest.mark.parametrize("word", ["lanes", "lanes=", "=3"])
def test_a_word_that_sets_nothing_is_refused(word: str) -> None:
    with pytest.raises(UserError, match=r"as in learner\.lanes=16"):
        read_set([word])
