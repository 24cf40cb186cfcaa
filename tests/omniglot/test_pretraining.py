"""Training the embedder: what it shows, what it carries, what it leaves behind."""

import shutil
import signal
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bits import bits
from reinstate.errors import Stopped, UserError
from reinstate.files import read_json
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run
from reinstate.tasks.drawings import load_embeddings
from reinstate_paper.omniglot import pretraining
from reinstate_paper.omniglot.distortion import Distortion, distorted, turned
from reinstate_paper.omniglot.embedder import Convolutions, embed, load_embedder
from reinstate_paper.omniglot.images import OneShotRun
from reinstate_paper.omniglot.lifelong import LifelongMemory
from reinstate_paper.omniglot.pretraining import PRESETS, Drawn, pretrain
from reinstate_paper.omniglot.teaching import Pretraining, State, Teacher
from tiny import SILENT, interrupt

TINY = Pretraining(
    epochs=4,
    characters=6,
    showings=3,
    batch=3,
    learning_rate=1e-2,
    learning_rate_end=5e-3,
    warmup=0.25,
    weight_decay=1e-2,
    average=0.9,
    dropout=0.1,
    network=Convolutions(channels=(2, 4), embedding_size=8, norm_groups=2),
    memory=LifelongMemory(slots=12),
    distortion=Distortion(rotation=10, scale=0.1, shear=0.1, shift=1),
)


@cache
def drawn(seed: int = 1) -> Drawn:
    """Characters as blots of ink at their own places, a little different in each drawing.

    The background is always the same; the seed makes other evaluation characters.
    """

    def blots(seed: int, characters: int, drawers: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        coarse = rng.random((characters, 1, 7, 7)) < 0.3
        ink = np.kron(coarse, np.ones((1, 1, 4, 4)))
        return (255 * ink * rng.uniform(0.7, 1, (characters, drawers, 28, 28))).astype(np.uint8)

    strangers = blots(seed, 20, 6)
    run = OneShotRun(strangers[:, 0], strangers[:, 1], np.arange(20))
    return Drawn(blots(0, 8, 4), strangers, [run, run])


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "TRIALS", 20)


def results(out: Path) -> dict[str, Any]:
    return {name: each for name, each in bits(out).items() if name.endswith(".safetensors")}


def rows(out: Path) -> list[dict[str, Any]]:
    times = {"seconds", "compile"}
    return [{n: v for n, v in row.items() if n not in times} for row in Run(out).read_metrics()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pretraining") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretraining, "TRIALS", 20)
        pretrain(TINY, drawn(), out, SILENT, command="reinstate embedder")
    return out


def test_what_a_finished_pretraining_leaves(finished: Path) -> None:
    card = read_json(finished / "card.json")
    assert (card["epochs"], card["updates"], card["command"]) == (4, 24, "reinstate embedder")
    assert card["settings"]["memory"]["slots"] == 12 and card["seconds"] > 0
    assert {"version", "commit", "jax", "device"} <= card.keys()
    assert [t["trials"] for t in card["few_shot"]] == [20] * 6
    assert 0 < card["one_shot_runs"]["accuracy"] <= 1 and 0 < card["pixels_20_way_1_shot"] <= 1
    embedder = load_embedder(finished / "embedder.safetensors")
    # Anybody can rebuild the embeddings from the weights that are kept.
    rebuilt = embed(embedder, drawn().evaluation).astype(np.float16).astype(np.float32)
    rebuilt /= np.linalg.norm(rebuilt, axis=-1, keepdims=True)
    np.testing.assert_array_equal(load_embeddings(finished / "embeddings.safetensors"), rebuilt)
    assert [row["epoch"] for row in rows(finished)] == [1, 2, 3, 4]
    assert all(np.isfinite(row["loss"]) and 0 <= row["right"] <= 1 for row in rows(finished))


class Interrupting(Reporter):
    """Sends a signal when an epoch is reported."""

    def __init__(self, word: str) -> None:
        super().__init__(quiet=True, every=0)
        self.word = word

    def note(self, text: str) -> None:
        if text.startswith(self.word):
            interrupt(signal.SIGINT)


def test_resuming_gives_the_same_bits(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Stopped, match="after epoch 2 of 4: --resume"):
        pretrain(TINY, drawn(), out, Interrupting("pretraining: epoch 2/4"))
    with pytest.raises(UserError, match="already holds a run"):
        pretrain(TINY, drawn(), out, SILENT)
    with pytest.raises(UserError, match=r"other settings \(seed: 0 → 1\)"):
        pretrain(replace(TINY, seed=1), drawn(), out, SILENT, resume=True)
    pretrain(TINY, drawn(), out, SILENT, resume=True)
    assert results(out) == results(finished)
    assert rows(out) == rows(finished)


def test_a_lost_last_test_is_made_good(finished: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(finished, tmp_path / "out"))
    before = (out / "card.json").read_bytes()
    pretrain(TINY, drawn(), out, SILENT, resume=True)
    assert (out / "card.json").read_bytes() == before  # nothing to do
    for name in ("card.json", "embedder.safetensors"):
        (out / name).unlink()
    pretrain(TINY, drawn(), out, SILENT, resume=True)
    assert results(out) == results(finished) and (out / "card.json").exists()


def test_nothing_is_learned_from_the_evaluation_characters(finished: Path, tmp_path: Path) -> None:
    pretrain(TINY, drawn(seed=5), tmp_path / "out", SILENT)
    mine, theirs = results(tmp_path / "out"), results(finished)
    different = "embeddings.safetensors"
    assert mine.pop(different) != theirs.pop(different)
    assert mine == theirs


def test_an_epoch_shows_each_character_once_a_showing() -> None:
    teacher = Teacher(TINY)
    plan = jax.jit(partial(teacher.plan, shape=(8, 4)))
    lessons = plan(jax.random.key(3))
    assert lessons.drawings.shape == lessons.labels.shape == lessons.turns.shape == (6, 3)
    assert jnp.sort(lessons.labels.reshape(3, 6), axis=1).tolist() == [[0, 1, 2, 3, 4, 5]] * 3
    labels, drawings = np.ravel(lessons.labels), np.ravel(lessons.drawings)
    characters, turns = drawings // 4, np.ravel(lessons.turns)
    seen = {(int(a), int(b), int(c)) for a, b, c in zip(labels, characters, turns, strict=True)}
    assert len(seen) == 6 and len({b for _, b, _ in seen}) == 6  # one orientation of each
    assert len(set(drawings.tolist())) == 18  # always another drawing
    other = plan(jax.random.key(4))
    assert other.drawings.tolist() != lessons.drawings.tolist()


def test_training_learns_to_tell_blots_apart() -> None:
    teacher, images = Teacher(TINY), jnp.asarray(drawn().background)
    train_epoch = jax.jit(teacher.train_epoch)
    state, losses = jax.jit(teacher.init)(), []
    _, first = train_epoch(state, images)
    _, second = train_epoch(state._replace(epoch=jnp.array(1, jnp.int32)), images)
    assert first.loss != second.loss  # each epoch draws its own
    for _ in range(40):
        state, news = train_epoch(state, images)
        losses.append(float(news.loss))
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.05, losses
    assert int(state.epoch) == 40


def test_learning_rate() -> None:
    teacher = Teacher(replace(TINY, epochs=5, warmup=0.2))  # 30 updates, 6 of them rising
    rates = [float(teacher.learning_rate(n)) for n in (0, 2, 5, 18, 30, 99)]
    assert rates == pytest.approx([1 / 600, 0.005, 0.01, 0.0075, 0.005, 0.005])
    plain = Teacher(PRESETS["plain"])
    assert [float(plain.learning_rate(n)) for n in (0, 10**5)] == pytest.approx([1e-4, 1e-4])


def test_presets_keep_kaiser_s_network_and_memory() -> None:
    for name in ("plain", "paper"):
        settings = PRESETS[name]
        assert settings.network.channels == (64, 128) and settings.network.embedding_size == 128
        assert settings.memory.slots == 8192 and settings.memory.neighbours == 256
    plain = PRESETS["plain"]
    assert plain.distortion == Distortion() and plain.network.norm_groups == 0
    assert (plain.batch, plain.updates_per_epoch, plain.memory.margin) == (16, 30, 0.1)


def test_quarter_turns() -> None:
    x = jnp.arange(2 * 28 * 28.0).reshape(2, 28, 28)
    found = turned(x, jnp.array([1, 3]))
    np.testing.assert_array_equal(found, [np.rot90(x[0]), np.rot90(x[1], 3)])


def test_distortions() -> None:
    key = jax.random.key(0)
    dots = jnp.zeros((200, 28, 28)).at[:, 14, 4].set(1.0)
    still = jax.jit(partial(distorted, Distortion()))(dots, key)
    np.testing.assert_allclose(still, dots, atol=1e-5)

    def places(bounds: Distortion) -> np.ndarray:
        """Where the dot has gone: centres of ink relative to the middle, (drawings, 2)."""
        found = np.asarray(jax.jit(partial(distorted, bounds))(dots, key))
        ink = found / found.sum((1, 2), keepdims=True)
        axis = np.arange(28) - 13.5
        return np.stack([np.einsum("bij,i->b", ink, axis), np.einsum("bij,j->b", ink, axis)], 1)

    shifted = places(Distortion(shift=2))
    assert np.abs(shifted - [0.5, -9.5]).max() <= 2.01
    assert (np.abs(shifted - [0.5, -9.5]).max(0) > 1.8).all()
    rotated = places(Distortion(rotation=15))
    angle = np.degrees(np.arctan2(rotated[:, 0], -rotated[:, 1])) - np.degrees(np.arctan2(0.5, 9.5))
    assert 13 < np.abs(angle).max() < 16 and angle.min() < -10 and angle.max() > 10
    np.testing.assert_allclose(np.hypot(*rotated.T), np.hypot(0.5, 9.5), atol=0.3)
    scaled = places(Distortion(scale=0.2))[:, 1] / -9.5
    assert 0.78 < scaled.min() < 0.85 and 1.15 < scaled.max() < 1.22


def test_settings_that_cannot_work(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="characters = 9 is more than the background has, 8"):
        pretrain(replace(TINY, characters=9), drawn(), tmp_path / "a", SILENT)
    with pytest.raises(UserError, match="showings = 5 is more than the background has, 4"):
        pretrain(replace(TINY, showings=5), drawn(), tmp_path / "a", SILENT)
    assert not (tmp_path / "a").exists()


def test_a_loss_that_is_not_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    init = Teacher.init

    def broken(self: Teacher) -> State:
        state = init(self)
        return state._replace(params=jax.tree.map(lambda w: w * jnp.nan, state.params))

    monkeypatch.setattr(Teacher, "init", broken)
    with pytest.raises(UserError, match="not finite in epoch 1: try a lower --learning-rate"):
        pretrain(TINY, drawn(), tmp_path / "out", SILENT)
    assert Run(tmp_path / "out").last_checkpoint() is not None
