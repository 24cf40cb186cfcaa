"""The embedder's training on the host: progress, checkpoints, resuming, and the files of results.

    OUT/embedder.safetensors    the averaged weights, in half precision
    OUT/embeddings.safetensors  all evaluation drawings, embedded by exactly these weights
    OUT/card.json               how they were made and what they can do

The evaluation characters are looked at only to report how well strangers are told apart: neither
the training nor the choice of the weights that are kept depends on them.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from reinstate.devices import describe
from reinstate.errors import UserError
from reinstate.files import read_json, write_json
from reinstate.omniglot.distortion import Distortion
from reinstate.omniglot.embedder import SIZE, Convolutions, Embedder, embed, rounded, save_embedder
from reinstate.omniglot.fewshot import OneShot, accuracy, one_shot_runs_accuracy, pixels, table
from reinstate.omniglot.lifelong import LifelongMemory
from reinstate.omniglot.teaching import News, Pretraining, State, Teacher
from reinstate.runs.progress import Reporter
from reinstate.runs.provenance import provenance
from reinstate.runs.run import Run, load_checkpoint
from reinstate.runs.training import Stopped, signals
from reinstate.settings import to_dict
from reinstate.tasks.drawings import load_embeddings, save_embeddings

PARTS = 10  # after each tenth of training: a checkpoint, a test and the files of results
TRIALS = 10_000  # of the last test; those on the way are shorter
TRIALS_ON_THE_WAY = 1_000
TEST_SEED = 2017  # of the few-shot tests

# Kaiser's own: 16 episodes of 5 characters and 6 showings, an update every 16 drawings.
PLAIN = Pretraining(
    epochs=8000, characters=80, showings=6, batch=16, learning_rate=1e-4, adam_epsilon=1e-4
)

# Ours, for one accelerator and three minutes; the card of the shipped embedder is of this. Of four
# variants of dropout, distortion and margin the best on background characters kept apart.
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

# A smaller network, for two cores and about four minutes.
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


class Drawn(NamedTuple):
    """The drawings as (characters, drawers, 28, 28) with ink from 0 to 255, and Lake's runs."""

    background: np.ndarray  # what is learned from, all of it
    evaluation: np.ndarray  # what is only reported on
    runs: Sequence[OneShot]


def pretrain(
    settings: Pretraining,
    drawn: Drawn,
    out: Path,
    reporter: Reporter,
    resume: bool = False,
    command: str = "",
) -> Embedder:
    """Train an embedder, from the last checkpoint in `out` if there is one.

    Returns the averaged weights in the half precision that the file keeps.
    """
    _require_drawings(settings, drawn)
    run = Run(out)
    run.create(_plain(settings), resume)
    course = Course(Teacher(settings), drawn, run, reporter, command)
    if course.epoch < settings.epochs:
        course.train()
    elif course.is_judged():
        reporter.note(f"already trained, {settings.epochs} epochs in {out}")
        return course.embedder()
    course.judge(TRIALS)
    return course.embedder()


class Course:
    """One training: where it stands, and where its files are."""

    def __init__(
        self, teacher: Teacher, drawn: Drawn, run: Run, reporter: Reporter, command: str
    ) -> None:
        self.teacher, self.settings, self.drawn = teacher, teacher.settings, drawn
        self.run, self.reporter, self.command = run, reporter, command
        self.state, self.rows = _start(teacher, run)
        self.part = max(self.settings.epochs // PARTS, 1)

    @property
    def epoch(self) -> int:
        """Epochs done."""
        return len(self.rows)

    def embedder(self) -> Embedder:
        return rounded(self.teacher.embedder(self.state.average))

    def train(self) -> None:
        """Go on to the last epoch."""
        images = jnp.asarray(self.drawn.background)
        with self.reporter.working("pretraining: compiling"):
            train_epoch = jax.jit(self.teacher.train_epoch).lower(self.state, images).compile()
        said = -math.inf
        with signals(self.reporter) as stop:
            while self.epoch < self.settings.epochs:
                self._one_epoch(lambda state: train_epoch(state, images))
                if time.monotonic() - said >= self.reporter.every or self.is_last:
                    said = time.monotonic()
                    self.reporter.note(_progress(self.settings, self.rows))
                ends_part = self.epoch % self.part == 0
                if stop or ends_part or self.is_last:
                    self.run.save_checkpoint(self.state, self.epoch)
                if stop:
                    raise Stopped(
                        f"stopped after epoch {self.epoch} of {self.settings.epochs}:"
                        " --resume continues"
                    )
                if ends_part and not self.is_last:
                    self.judge(TRIALS_ON_THE_WAY)

    @property
    def is_last(self) -> bool:
        return self.epoch == self.settings.epochs

    def _one_epoch(self, train_epoch: Callable[[State], tuple[State, News]]) -> None:
        began = time.monotonic()
        new, news = jax.block_until_ready(train_epoch(self.state))
        if not news.finite:
            kept = self.run.save_checkpoint(self.state, self.epoch)
            raise UserError(
                f"a loss or weight is not finite in epoch {self.epoch + 1}: try a lower"
                f" --learning-rate; the last good state is kept in {kept}"
            )
        row = {
            "epoch": self.epoch + 1,
            "seconds": time.monotonic() - began,
            "loss": float(news.loss),
            "right": float(news.right),
        }
        self.run.append_metrics(row)
        self.state = new
        self.rows.append(row)

    def judge(self, trials: int) -> None:
        """Write the files of results, and test what they hold."""
        out, embedder, drawn = self.run.path, self.embedder(), self.drawn
        save_embedder(out / "embedder.safetensors", embedder)
        save_embeddings(out / "embeddings.safetensors", embed(embedder, drawn.evaluation))
        tests = table(load_embeddings(out / "embeddings.safetensors"), trials, TEST_SEED)
        one_shot = one_shot_runs_accuracy(partial(embed, embedder), drawn.runs)
        plain = accuracy(pixels(drawn.evaluation), 20, 1, TRIALS_ON_THE_WAY, TEST_SEED)
        card = {
            "settings": _plain(self.settings),
            "command": self.command,
            **provenance(),
            "device": describe(),
            "epochs": self.epoch,
            "updates": self.epoch * self.settings.updates_per_epoch,
            "seconds": sum(row["seconds"] for row in self.rows),
            "few_shot": tests,
            "one_shot_runs": {
                "accuracy": one_shot.mean,
                "standard_error": one_shot.error,
                "runs": len(drawn.runs),
            },
            "pixels_20_way_1_shot": plain.mean,
        }
        write_json(out / "card.json", card)
        found = [f"{t['way']}-way {t['shot']}-shot {t['rule']} {t['accuracy']:.2%}" for t in tests]
        self.reporter.note("  ".join([*found, f"within alphabets {one_shot.mean:.2%}"]))

    def is_judged(self) -> bool:
        """Whether the last test was made: an interruption may have come before it."""
        card = self.run.path / "card.json"
        return card.exists() and read_json(card).get("epochs") == self.settings.epochs


def _start(teacher: Teacher, run: Run) -> tuple[State, list[dict[str, Any]]]:
    """The state from which training goes on, and the rows of the epochs behind it."""
    saved = run.last_checkpoint()
    if saved is None:
        state, epoch = jax.jit(teacher.init)(), 0
    else:
        state, epoch = load_checkpoint(saved, jax.eval_shape(teacher.init))
    rows = run.read_metrics(epoch)
    if len(rows) != epoch:
        raise UserError(
            f"{run.metrics_path} has {len(rows)} of {epoch} epochs: delete {saved} to continue"
            " from the checkpoint before"
        )
    run.write_metrics(rows)  # forgets what came after the checkpoint: it is trained again
    return state, rows


def _plain(settings: Pretraining) -> dict[str, Any]:
    """The settings as JSON reads them back: tuples are lists."""
    plain: dict[str, Any] = json.loads(json.dumps(to_dict(settings)))
    return plain


def _progress(settings: Pretraining, rows: list[dict[str, Any]]) -> str:
    last = rows[-1]
    pace = float(np.median([row["seconds"] for row in rows[-100:]]))
    return (
        f"epoch {last['epoch']}/{settings.epochs}  loss {last['loss']:+.4f}"
        f"  right in memory {last['right']:.1%}"
        f"  {settings.updates_per_epoch / pace:,.0f} updates/s"
        f"  {pace * (settings.epochs - last['epoch']):.0f} s left"
    )


def _require_drawings(settings: Pretraining, drawn: Drawn) -> None:
    for name in ("background", "evaluation"):
        images = getattr(drawn, name)
        if images.ndim != 4 or images.shape[2:] != (SIZE, SIZE) or images.dtype != np.uint8:
            raise UserError(
                f"the {name} drawings must be bytes (characters, drawers, {SIZE}, {SIZE}),"
                f" not {images.dtype}{list(images.shape)}"
            )
    characters, drawers = drawn.background.shape[:2]
    for name, asked, there in (
        ("characters", settings.characters, characters),
        ("showings", settings.showings, drawers),
    ):
        if asked > there:
            raise UserError(f"{name} = {asked} is more than the background has, {there}: lower it")
