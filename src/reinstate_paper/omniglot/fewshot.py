"""How well embeddings distinguish characters that the embedder was not trained on.

`card.json` says it of an embedder, and how that was made.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from reinstate.errors import UserError
from reinstate.files import check, read_json
from reinstate_paper.omniglot.images import OneShotRun

Rule = Literal["nearest", "class-mean"]
CHUNK = 250  # trials at a time: memory stays small

# The tests that Kaiser et al. 2017 report: (way, shot), with their accuracies.
KAISER = {(5, 1): 0.984, (5, 5): 0.996, (20, 1): 0.950, (20, 5): 0.986}


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


class Card(TypedDict):
    """What card.json holds: how an embedder was made, and what it can do."""

    epochs: int
    seconds: float
    device: str
    few_shot: list[FewShot]
    one_shot_runs: OneShotRuns
    pixels_20_way_1_shot: float


def read_card(path: Path) -> Card:
    """Read a card that may be anybody's."""
    advice = "delete it, and the same command with --resume makes it again"
    return check(Card, read_json(path), path, "describe an embedder", advice)


class Accuracy(NamedTuple):
    """Share of drawings recognised."""

    mean: float
    error: float  # standard error, over trials or runs


def accuracy(
    embeddings: np.ndarray, way: int, shot: int, trials: int, seed: int, rule: Rule = "nearest"
) -> Accuracy:
    """Measure the share of drawings recognised, by embeddings (characters, drawings, size).

    A trial takes `way` characters at random, `shot` drawings of each as examples and one more of
    each to recognise. By cosine, the answer is the character of the nearest single example
    (`nearest`, as a memory of every example would answer), or that of the nearest mean of a
    character's examples (`class-mean`). With one shot the two rules are the same.
    """
    characters, drawings, _ = embeddings.shape
    if not (0 < way <= characters and 0 < shot < drawings and trials > 0):
        raise UserError(f"{way}-way {shot}-shot takes more than {characters} × {drawings} drawings")
    rng = np.random.default_rng(seed)
    unit = embeddings / np.linalg.norm(embeddings, axis=-1, keepdims=True)
    shares = [
        _trials(unit, way, shot, min(CHUNK, trials - start), rng, rule)
        for start in range(0, trials, CHUNK)
    ]
    return _summary(np.concatenate(shares))


def _trials(
    unit: np.ndarray, way: int, shot: int, trials: int, rng: np.random.Generator, rule: Rule
) -> np.ndarray:
    """Measure the share recognised in each of `trials` trials."""
    characters, drawings, size = unit.shape
    chosen = _draw(rng, (trials,), characters, way)
    picks = _draw(rng, (trials, way), drawings, shot + 1)
    drawn = unit[chosen[:, :, None], picks]  # (trials, way, shot + 1, size)
    tests, examples = drawn[:, :, 0], drawn[:, :, 1:]
    if rule == "class-mean":
        means = examples.mean(axis=2)
        examples = (means / np.linalg.norm(means, axis=-1, keepdims=True))[:, :, None]
    flat = examples.reshape(trials, -1, size)
    cosines = tests @ flat.transpose(0, 2, 1)  # (trials, way, examples)
    found = cosines.argmax(axis=2) // examples.shape[2]
    return (found == np.arange(way)).mean(axis=1)


def _draw(rng: np.random.Generator, shape: tuple[int, ...], total: int, few: int) -> np.ndarray:
    """Draw `few` distinct numbers below `total`, independently at each place of a shape."""
    order = rng.random((*shape, total))
    if few == total:
        return order.argsort(axis=-1)
    nearest = np.argpartition(order, few, axis=-1)[..., :few]
    return rng.permuted(nearest, axis=-1)


def table(embeddings: np.ndarray, trials: int, seed: int) -> list[dict[str, Any]]:
    """Run Kaiser's four tests by both rules, as rows for a card."""
    rows: list[dict[str, Any]] = []
    for (way, shot), published in KAISER.items():
        rules: tuple[Rule, ...] = ("nearest",) if shot == 1 else ("nearest", "class-mean")
        for rule in rules:
            found = accuracy(embeddings, way, shot, trials, seed, rule)
            test = {"way": way, "shot": shot, "rule": rule}
            share = {"accuracy": found.mean, "standard_error": found.error}
            rows.append({**test, **share, "trials": trials, "kaiser_2017": published})
    return rows


def one_shot_runs_accuracy(
    embed: Callable[[np.ndarray], np.ndarray], runs: Sequence[OneShotRun]
) -> Accuracy:
    """Measure the share recognised in Lake's one-shot runs, each within one alphabet."""
    tests, examples = (embed(np.stack([getattr(r, n) for r in runs])) for n in ("test", "train"))
    cosines = tests @ examples.transpose(0, 2, 1)  # (runs, tests, characters)
    answers = np.stack([run.answer for run in runs])
    return _summary(np.mean(cosines.argmax(axis=2) == answers, axis=1))


def pixels(images: np.ndarray) -> np.ndarray:
    """Return plain pixels, (characters, drawings, pixels), as embeddings to beat."""
    return images.reshape(*images.shape[:2], -1).astype(np.float32)


def _summary(shares: np.ndarray) -> Accuracy:
    error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else float("nan")
    return Accuracy(float(shares.mean()), float(error))
