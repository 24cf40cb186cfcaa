"""What a user waits for: with a stand-in for the command, and rewards that are made up."""

import sys
from pathlib import Path

import pytest

from reinstate.bench import starting
from reinstate.bench.cases import Case
from reinstate.errors import UserError
from tiny import TINY

SAYS = """
import os, sys, time
print("epl2rl: compiling", file=sys.stderr, flush=True)
if "fail" in sys.argv:
    sys.exit("reinstate: no such thing")
time.sleep(0.2)
cache = os.environ["XDG_CACHE_HOME"]
os.makedirs(os.path.join(cache, "seen", str(len(sys.argv))), exist_ok=True)
assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
print("epl2rl: epoch 1/60  reward 1.8", file=sys.stderr, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "PROGRAM", (sys.executable, "-c", SAYS))


def test_a_command_is_timed_until_its_first_epoch_and_ended(tmp_path: Path) -> None:
    found = starting.first_line(["train"], tmp_path)
    assert 0.2 < found.seconds < 30  # it would go on for a minute
    assert found.peak_bytes is None or found.peak_bytes > 1e6


def test_it_starts_twice_with_one_cache_of_its_own() -> None:
    found = starting.starts(Case("barcode-bandits", "epl2rl", TINY), "quick")
    assert found["cold"]["seconds"] > 0 and found["warm"]["seconds"] > 0
    assert (found["experiment"], found["agent"]) == ("barcode-bandits", "epl2rl")


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such thing"):
        starting.first_line(["fail"], tmp_path)


@pytest.mark.parametrize(("target", "epochs", "reached"), [(2.5, 3, True), (9.0, 4, False)])
def test_training_ends_at_the_reward_or_with_its_epochs(
    target: float, epochs: int, reached: bool
) -> None:
    rewards = iter([1.0, 2.0, 3.0, 2.0, 9.0])
    case = Case("tiny", "epl2rl", TINY)  # four epochs
    found = starting._trained(case, target, lambda: next(rewards), 10, 1.5)
    assert (found["epochs"], found["reached"], found["steps"]) == (epochs, reached, 10 * epochs)
    assert found["best"] == 3 and found["compile_seconds"] == 1.5
