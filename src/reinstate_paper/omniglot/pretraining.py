"""Train the embedder in a run on disk, and write the files of results.

    OUT/embedder.safetensors    the averaged weights, in half precision
    OUT/embeddings.safetensors  all evaluation drawings, embedded by exactly these weights
    OUT/card.json               how they were made and what they can do

The evaluation characters only serve to report how well unknown characters are told apart. Neither
the training nor the choice of the weights that are kept depends on them.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import jax
import jax.numpy as jnp
import numpy as np

from reinstate.devices import describe
from reinstate.errors import UserError
from reinstate.files import check, locked, read_json, write_document
from reinstate.runs.checkpoints import Row
from reinstate.runs.loop import RunWork
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import Run
from reinstate.settings import to_dict
from reinstate.tasks.drawings import load_embeddings, save_embeddings
from reinstate_paper.omniglot.distortion import Distortion
from reinstate_paper.omniglot.embedder import (
    Convolutions,
    Embedder,
    embed,
    rounded,
    save_embedder,
)
from reinstate_paper.omniglot.images import OneShotRun
from reinstate_paper.omniglot.lifelong import LifelongMemory
from reinstate_paper.omniglot.teaching import EmbedderMetrics, Pretraining, State, Teacher

PARTS = 10  # after each tenth of training there is a checkpoint
TRIALS = 10_000
TEST_SEED = 2017  # of the few-shot tests

# As in Kaiser et al.: 16 episodes of 5 characters, 6 showings, an update every 16 drawings.
PLAIN = Pretraining(adam_epsilon=1e-4)

# Ours, three minutes on one accelerator; it made the shipped embedder. Of four variants of dropout,
# distortion and margin it was the best on held-out background characters.
PAPER = Pretraining(
    epochs=5620,
    characters=384,
    showings=10,
    batch=192,
    learning_rate=1e-3,
    learning_rate_end=1e-6,
    warmup=0.02,
    weight_decay=1e-2,
    average=0.999,
    dropout=0.3,
    precision="bfloat16",
    network=Convolutions(norm_groups=8, centred=True, views=True),
    memory=LifelongMemory(margin=0.3),
    distortion=Distortion(rotation=15, scale=0.15, shear=0.2, shift=2),
)

# A smaller network, about four minutes on two cores.
QUICK = Pretraining(
    epochs=180,
    characters=64,
    showings=8,
    batch=32,
    learning_rate=1e-3,
    learning_rate_end=1e-5,
    warmup=0.02,
    weight_decay=1e-2,
    average=0.99,
    network=Convolutions(channels=(16, 32), norm_groups=4),
    memory=LifelongMemory(slots=1024, margin=0.3),
    distortion=Distortion(rotation=10, scale=0.1, shear=0.1, shift=1),
)

PRESETS = {"plain": PLAIN, "paper": PAPER, "quick": QUICK}


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


class Drawn(NamedTuple):
    """Drawings as (characters, drawers, 28, 28) with ink from 0 to 255, and Lake's runs."""

    background: np.ndarray  # what is learned from, all of it
    evaluation: np.ndarray  # what is only reported on
    runs: Sequence[OneShotRun]


def pretrain(
    settings: Pretraining,
    drawn: Drawn,
    out: Path,
    reporter: Reporter,
    resume: bool = False,
    command: str = "",
) -> Embedder:
    """Train an embedder, from the last checkpoint in `out` if there is one.

    Return the averaged weights in the half precision that the file keeps.
    """
    asked = {"characters": settings.characters, "showings": settings.showings}
    for (name, number), there in zip(asked.items(), drawn.background.shape, strict=False):
        if number > there:
            raise UserError(f"{name} = {number} is more than the background has, {there}: lower it")
    run = Run(out)
    with locked(out):
        run.create(_plain(settings), resume)
        work = EmbedderWork(Teacher(settings), drawn, run, reporter, command)
        if work.done < settings.epochs:
            work.train()
        elif work.is_judged():
            reporter.note(f"already trained, {settings.epochs} epochs in {out}")
            return work.embedder()
        work.judge()
        return work.embedder()


class EmbedderWork(RunWork[State, EmbedderMetrics]):
    """The training of an embedder in a run on disk."""

    def __init__(
        self, teacher: Teacher, drawn: Drawn, run: Run, reporter: Reporter, command: str
    ) -> None:
        self.teacher, self.settings, self.drawn = teacher, teacher.settings, drawn
        self.command, epochs = command, teacher.settings.epochs
        init = jax.jit(teacher.init)
        every = max(epochs // PARTS, 1)
        super().__init__(run, reporter, "pretraining", epochs, init, checkpoint_every=every)

    def embedder(self) -> Embedder:
        return rounded(self.teacher.embedder(self.state.average))

    def compile(self, state: State) -> Callable[[State], tuple[State, EmbedderMetrics]]:
        images = jnp.asarray(self.drawn.background)
        train_epoch = jax.jit(self.teacher.train_epoch).lower(state, images).compile()
        return lambda state: train_epoch(state, images)

    def broken(self, metrics: EmbedderMetrics, new: State, before: State) -> str | None:
        return None if metrics.finite else "the loss or a weight"

    def row(self, epoch: int, metrics: EmbedderMetrics, seconds: float) -> Row:
        loss, right = float(metrics.loss), float(metrics.right)
        return {"epoch": epoch, "seconds": seconds, "loss": loss, "right": right}

    def summary(self, row: Row) -> str:
        pace = self.settings.updates_per_epoch / row["seconds"]
        right = f"right in memory {row['right']:.1%}"
        return f"loss {row['loss']:+.4f}  {right}  {pace:,.0f} updates/s"

    def judge(self) -> None:
        """Write the files of results for the saved state, and test what they hold."""
        out, embedder, drawn, epoch = self.run.path, self.embedder(), self.drawn, self.done
        save_embedder(out / "embedder.safetensors", embedder)
        save_embeddings(out / "embeddings.safetensors", embed(embedder, drawn.evaluation))
        tests = table(load_embeddings(out / "embeddings.safetensors"), TRIALS, TEST_SEED)
        one_shot = one_shot_runs_accuracy(partial(embed, embedder), drawn.runs)
        lake = {"accuracy": one_shot.mean, "standard_error": one_shot.error}
        plain = accuracy(pixels(drawn.evaluation), 20, 1, TRIALS // 10, TEST_SEED)
        card = {
            "settings": _plain(self.settings),
            "command": self.command,
            **provenance(),
            "device": describe(),
            "epochs": epoch,
            "updates": epoch * self.settings.updates_per_epoch,
            "seconds": sum(row["seconds"] for row in self.rows),
            "few_shot": tests,
            "one_shot_runs": {**lake, "runs": len(drawn.runs)},
            "pixels_20_way_1_shot": plain.mean,
        }
        write_document(out / "card.json", card)

    def is_judged(self) -> bool:
        """Return whether the last test was made: an interruption may have come before it."""
        card = self.run.path / "card.json"
        return card.exists() and read_card(card)["epochs"] == self.epochs


def _plain(settings: Pretraining) -> dict[str, Any]:
    """Return the settings as JSON reads them back: tuples become lists."""
    plain: dict[str, Any] = json.loads(json.dumps(to_dict(settings)))
    return plain


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
