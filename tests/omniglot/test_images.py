"""Images from tiny archives of our own, on disk or on a server; the real ones where they lie."""

import os
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from numpy.typing import NDArray

from omniglot.tiny_archives import (
    ANSWERS,
    CHARACTERS,
    draw,
    drawing_files,
    pack,
    refusal,
)
from reinstate.runs.progress import Reporter
from reinstate_paper.omniglot import images
from reinstate_paper.omniglot.images import (
    VARIABLE,
    download,
    folder_of,
    load_drawings,
    load_one_shot_runs,
    shrink,
)

pytestmark = pytest.mark.usefixtures("surroundings")
REAL = os.environ.get(VARIABLE)
needs_real_images = pytest.mark.skipif(not REAL, reason=f"{VARIABLE} names no Omniglot images")


def slowly_shrunk(ink: NDArray[np.bool_], size: int) -> NDArray[np.float64]:
    """Each pixel cut into size × size equal pieces, each cell the mean of 105 × 105 pieces."""
    pieces = np.repeat(np.repeat(ink, size, axis=0), size, axis=1)
    cells = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            cell = pieces[105 * row : 105 * row + 105, 105 * column : 105 * column + 105]
            cells[row, column] = 255 * cell.mean()
    return cells


@pytest.mark.parametrize("size", [7, 28])
def test_shrinking_averages_over_areas(size: int) -> None:
    ink, _ = draw(seed=3)
    slow = slowly_shrunk(ink, size)
    np.testing.assert_allclose(shrink(ink, size), slow, atol=0.5 + 1e-9)


def test_shrinking_by_hand() -> None:
    # A cell of 28 is 3.75 pixels wide: the first takes three quarters of pixel 3.
    ink = np.zeros((105, 105), bool)
    ink[0, 3] = True
    small = shrink(ink, 28)
    assert small[0, 0] == round(255 * 0.75 / 3.75**2)
    assert small[0, 1] == round(255 * 0.25 / 3.75**2)
    assert small.astype(int).sum() == small[0, 0] + small[0, 1]
    assert (shrink(np.ones((105, 105), bool), 28) == 255).all()


def test_drawings_are_in_order(place: Path) -> None:
    drawings = load_drawings("background", place)
    assert drawings.shape == (len(CHARACTERS), 20, 28, 28) and drawings.dtype == np.uint8
    # Character 2 of the second alphabet, drawer 20.
    np.testing.assert_array_equal(drawings[3, 19], shrink(draw(seed=80)[0]))
    assert (load_drawings("evaluation", place) != drawings).any()


def test_one_shot_runs_know_their_answers(place: Path) -> None:
    runs = load_one_shot_runs(place)
    assert [run.answer.tolist() for run in runs] == list(ANSWERS.values())
    for run in runs:  # the test drawings of these archives are those of training
        assert run.train.shape == (3, 28, 28)
        np.testing.assert_array_equal(run.train[run.answer], run.test)


def test_images_are_looked_for_where_the_environment_says_and_then_in_the_cache(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = refusal(load_drawings, "background")
    assert "reinstate pretrain omniglot --download" in nothing and f"{VARIABLE}=FOLDER" in nothing
    monkeypatch.setenv(VARIABLE, str(place))
    assert len(load_one_shot_runs()) == 2
    monkeypatch.delenv(VARIABLE)
    folder_of().parent.mkdir(parents=True)
    place.rename(folder_of())
    assert len(load_drawings("background")) == len(CHARACTERS)


@pytest.mark.parametrize("change", [None, draw(seed=1)[1], b"text"])
def test_other_drawings_than_the_public_ones_are_refused(place: Path, change: bytes | None) -> None:
    changed = drawing_files() | {"Runes/character01/1000_05.png": change}
    files = {name: content for name, content in changed.items() if content is not None}
    pack(place / "images_background.zip", files)
    assert "checksum differs" in refusal(load_drawings, "background", place)


def test_a_broken_archive_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place / "images_background.zip"
    whole = path.read_bytes()
    garbled = bytearray(whole)
    garbled[100:200] = bytes(100)
    for content in (b"", b"no archive", whole[:5000], bytes(garbled)):
        path.write_bytes(content)
        assert "fetch it again" in refusal(load_drawings, "background", place)
    path.write_bytes(whole)
    monkeypatch.setattr(images, "LARGEST", 1000)
    assert "more than Omniglot has" in refusal(load_drawings, "background", place)


def test_how_an_archive_is_packed_means_nothing(place: Path) -> None:
    odd = {"../../escaped.png": b"outside", "images_background/Runes/.DS_Store": bytes(1 << 17)}
    with zipfile.ZipFile(place / "images_background.zip", "w", zipfile.ZIP_LZMA) as zipped:
        for name, content in {**odd, **drawing_files()}.items():
            zipped.writestr(name, content)
    assert len(load_drawings("background", place)) == len(CHARACTERS)
    assert not [*place.parent.rglob("escaped*")]


@pytest.fixture
def server(place: Path) -> Iterator[str]:
    """The tiny archives at the addresses of the public ones."""
    (place / "one-shot-classification").mkdir()
    (place / "all_runs.zip").rename(place / "one-shot-classification" / "all_runs.zip")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = partial(Quiet, directory=str(place))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def test_download_brings_what_is_not_there(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = download(tmp_path / "new" / "folder", base_url=server)
    names = ["all_runs.zip", "images_background.zip", "images_evaluation.zip"]
    assert sorted(path.name for path in here.iterdir()) == names
    assert len(load_drawings("evaluation", here)) == len(CHARACTERS)
    assert f"fetching {server}/images_background.zip" in capsys.readouterr().err
    download(here, base_url="http://127.0.0.1:9")  # all is there: no word over the network
    assert "there already" in capsys.readouterr().err


def test_what_is_not_the_public_archive_is_not_kept(
    server: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet, here, archive = Reporter(quiet=True), tmp_path / "here", place / "images_background.zip"
    whole = archive.read_bytes()
    for content in (b"<html>please log in</html>", whole[:3000]):
        archive.write_bytes(content)
        assert "is not the public archive" in refusal(download, here, quiet, server)
        assert not [*here.rglob("*")]
    archive.write_bytes(whole)
    monkeypatch.setattr(images, "LARGEST", len(whole) - 1)  # a server may send more and more
    assert "is not the public archive" in refusal(download, here, quiet, server)
    archive.unlink()
    assert "404" in refusal(download, here, quiet, server)
    said = refusal(download, here, quiet, "http://127.0.0.1:9")
    assert "refused" in said and f"fetch it by hand and set {VARIABLE}" in said


@needs_real_images
@pytest.mark.parametrize(("split", "characters"), [("background", 964), ("evaluation", 659)])
def test_the_real_drawings(split: str, characters: int) -> None:
    drawings = load_drawings(split, Path(REAL or ""))  # checks the sha256 on the way
    assert drawings.shape == (characters, 20, 28, 28)
    ink = drawings.mean((1, 2, 3)) / 255
    assert ink.min() > 0.005 and ink.max() < 0.25  # strokes on paper, not paper on strokes


@needs_real_images
def test_the_real_runs() -> None:
    runs = load_one_shot_runs(Path(REAL or ""))
    assert len(runs) == 20
    for run in runs:
        assert run.train.shape == run.test.shape == (20, 28, 28)
        assert sorted(run.answer) == list(range(20))
    # The first lines of run01's labels, read by eye.
    assert runs[0].answer[:3].tolist() == [7, 8, 1]
