"""What card.json says of an embedder: how it was made, and what it can do."""

from pathlib import Path
from typing import TypedDict

from reinstate.analysis.documents import checked
from reinstate.files import read_json


class FewShot(TypedDict):
    """One test: how many drawings of new characters are recognised."""

    way: int
    shot: int
    rule: str
    accuracy: float
    standard_error: float
    kaiser_2017: float


class OneShotRuns(TypedDict):
    """Lake's runs."""

    accuracy: float
    standard_error: float
    runs: int


class Tested(TypedDict):
    """What every card says, older ones too."""

    epochs: int
    seconds: float
    device: str
    few_shot: list[FewShot]
    one_shot_runs: OneShotRuns


class Card(Tested):
    """What card.json holds: how an embedder was made, and what it can do."""

    pixels_20_way_1_shot: float


def read_card(path: Path) -> Card:
    """Read a card that may be anybody's."""
    advice = "delete it, and the same command with --resume makes it again"
    return checked(Card, read_json(path), path, "describe an embedder", advice)


def rule_in_words(rule: str) -> str:
    """Say how a drawing is recognised."""
    known = {"nearest": "nearest example", "class-mean": "nearest class mean"}
    return known.get(rule, rule)
