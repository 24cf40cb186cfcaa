from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from spoken import Command


def test_help_says_that_it_continues(command: "Command") -> None:
    said = command("reproduce rivals --help")
    assert said.code == 0 and "the same command continues" in " ".join(said.out.split())
    for flag in ("--preset", "--events", "--agents", "--trials", "--seeds"):
        assert flag in said.out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--events chess", "unknown event 'chess': choose among bandits, maze"),
        ("--agents deltanett", "unknown agent 'deltanett': did you mean deltanet?"),
        ("--preset quik", "unknown preset 'quik': did you mean quick?"),
        ("--trials 0", "trials must be positive"),
        ("--seeds 0", "seeds must be positive"),
        ("--longer 0", "epochs must be positive"),
    ],
)
def test_mistakes_are_refused_in_one_line(command: "Command", options: str, expected: str) -> None:
    said = command(f"reproduce rivals {options}")
    assert said.code == 2 and expected in said.err and said.err.count("\n") == 1
