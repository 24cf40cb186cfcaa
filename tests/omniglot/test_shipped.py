"""What comes with the package: embeddings, the embedder that made them, and its card."""

import os
from typing import Any

import numpy as np
import pytest

from reinstate.files import read_json
from reinstate.tasks.drawings import EMBEDDING_SIZE, NUM_CLASSES, NUM_DRAWINGS, load_embeddings
from reinstate_paper.omniglot.embedder import embed, load_embedder, packaged_file
from reinstate_paper.omniglot.images import VARIABLE, load_drawings
from reinstate_paper.omniglot.pretraining import accuracy


@pytest.fixture(scope="module")
def card() -> dict[str, Any]:
    found: dict[str, Any] = read_json(packaged_file("card.json"))
    return found


@pytest.fixture(scope="module")
def embeddings() -> np.ndarray:
    return load_embeddings()


def row(card: dict[str, Any], way: int, shot: int, rule: str = "nearest") -> dict[str, Any]:
    (found,) = [
        r for r in card["few_shot"] if (r["way"], r["shot"], r["rule"]) == (way, shot, rule)
    ]
    return found


def test_every_evaluation_drawing_has_an_embedding(embeddings: np.ndarray) -> None:
    assert embeddings.shape == (659, 20, 128) == (NUM_CLASSES, NUM_DRAWINGS, EMBEDDING_SIZE)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=-1), 1, atol=1e-6)
    assert len(np.unique(embeddings.reshape(-1, 128), axis=0)) == 659 * 20


def test_the_embedder_is_the_one_that_the_card_describes(card: dict[str, Any]) -> None:
    settings = load_embedder().settings
    assert settings.channels == (64, 128) and settings.embedding_size == 128
    assert settings.centred and settings.views
    network = card["settings"]["network"]
    assert {**vars(settings), "channels": list(settings.channels)} == network


@pytest.mark.parametrize(
    ("way", "shot", "published"), [(5, 1, 0.984), (20, 1, 0.95), (20, 5, 0.986)]
)
def test_accuracies_meet_the_published_ones(
    card: dict[str, Any], embeddings: np.ndarray, way: int, shot: int, published: float
) -> None:
    recorded = row(card, way, shot)
    assert recorded["kaiser_2017"] == published
    assert recorded["accuracy"] >= published
    found = accuracy(embeddings, way, shot, trials=400, seed=1)  # other trials than the card's
    error = np.hypot(found.error, recorded["standard_error"])
    assert found.mean == pytest.approx(recorded["accuracy"], abs=4 * error)


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} does not say where images are")
def test_embeddings_are_those_of_the_images(
    embeddings: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reinstate_paper.omniglot.embedder.CHUNK", 3)
    images = load_drawings("evaluation")
    few = [0, 393, 658], [0, 7, 19]  # a drawing of each of three characters
    again = embed(load_embedder(), images[few][:, None])
    assert again.shape == (3, 1, 128)
    assert np.sum(again[:, 0] * embeddings[few], axis=-1).min() > 0.9999
