"""Images from tiny archives of our own; the real ones where they lie."""

import os
import shutil
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from omniglot.tiny_archives import (
    ANSWERS,
    CHARACTERS,
    draw,
    drawing_files,
    expect,
    pack,
    refusal,
    run_files,
    unpack,
)
from reinstate.runs.progress import Reporter
from reinstate_paper.omniglot import archives, images
from reinstate_paper.omniglot.archives import VARIABLE, read_archive
from reinstate_paper.omniglot.images import load_drawings, load_one_shot_runs, shrink

pytestmark = pytest.mark.usefixtures("surroundings")
REAL = os.environ.get(VARIABLE)
needs_real_images = pytest.mark.skipif(not REAL, reason=f"{VARIABLE} names no Omniglot images")


def chunks(*parts: tuple[bytes, bytes]) -> bytes:
    """Make a PNG of these chunks."""
    framed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (*parts, (b"IEND", b""))
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def header(width: int, height: int) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)


def slowly_shrunk(ink: NDArray[np.bool_], size: int) -> NDArray[np.float64]:
    """Each pixel cut into size × size equal pieces, each cell the mean of 105 × 105 pieces."""
    pieces = np.repeat(np.repeat(ink, size, axis=0), size, axis=1)
    cells = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            cell = pieces[105 * row : 105 * row + 105, 105 * column : 105 * column + 105]
            cells[row, column] = 255 * cell.mean()
    return cells


@pytest.mark.parametrize("size", [1, 7, 28, 52, 105])
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
    assert drawings.images.shape == (4, 20, 28, 28) and drawings.images.dtype == np.uint8
    assert drawings.characters == CHARACTERS
    # Character 2 of the second alphabet, drawer 20.
    np.testing.assert_array_equal(drawings.images[3, 19], shrink(draw(seed=80)[0], 28))
    assert (load_drawings("evaluation", place).images != drawings.images).any()


def test_unpacked_folders_are_the_same(place: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    unpack(unpacked / "images_background", drawing_files())
    unpack(unpacked, run_files())
    files = read_archive("background", unpacked / "images_background")
    assert files == read_archive("background", place / "images_background.zip")
    zipped, plain = load_one_shot_runs(place), load_one_shot_runs(unpacked)
    np.testing.assert_array_equal([run.test for run in zipped], [run.test for run in plain])


@pytest.mark.parametrize("name", ["all_runs", "one_shot_runs", "one-shot-classification/all_runs"])
def test_one_shot_runs_know_their_answers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect(monkeypatch, "one-shot runs", run_files())
    pack(tmp_path / f"{name}.zip", run_files(), "all_runs/")
    runs = load_one_shot_runs(tmp_path, size=14)
    assert [run.answer.tolist() for run in runs] == list(ANSWERS.values())
    for run in runs:  # the test drawings of these archives are those of training
        assert run.train.shape == (3, 14, 14)
        np.testing.assert_array_equal(run.train[run.answer], run.test)


def test_one_shot_labels_must_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = run_files() | {"run02/class_labels.txt": b"run02/test/item01.png"}
    expect(monkeypatch, "one-shot runs", files)
    pack(tmp_path / "all_runs.zip", files)
    assert "labels of run02" in refusal(load_one_shot_runs, tmp_path)


def test_the_environment_names_the_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(place))
    assert load_drawings("background").characters == CHARACTERS
    assert len(load_one_shot_runs()) == 2


def test_the_cache_is_the_place_of_last_resort(place: Path) -> None:
    shutil.copytree(place, archives.cache_folder())
    assert load_drawings("background").characters == CHARACTERS


def test_what_is_missing_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = refusal(load_drawings, "background")
    assert "reinstate pretrain omniglot --download" in nothing and f"{VARIABLE}=FOLDER" in nothing
    (place / "images_background.zip").unlink()
    assert f"{place} lacks images_background.zip" in refusal(load_drawings, "background", place)
    monkeypatch.setenv(VARIABLE, str(place / "elsewhere"))
    assert "elsewhere is no folder" in refusal(load_drawings, "background")
    assert "did you mean evaluation" in refusal(load_drawings, "evaluate", place)
    assert "size must be from 1 to 105" in refusal(load_drawings, "evaluation", place, size=106)


def test_a_second_reading_decodes_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_drawings("background", place)
    monkeypatch.setattr(images, "_ink", None)
    second = load_drawings("background", place)
    np.testing.assert_array_equal(first.images, second.images)
    assert first[1:] == second[1:]
    # Once read, the images are there without their archive, but not in a place that lacks it.
    (place / "images_background.zip").unlink()
    assert load_drawings("background").characters == CHARACTERS
    assert "lacks" in refusal(load_drawings, "background", place)


def test_sizes_are_kept_apart(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (28, 7):
        load_drawings("background", place, size)
    monkeypatch.setattr(images, "_ink", None)
    for size in (28, 7):
        assert load_drawings("background", place, size).images.shape == (4, 20, size, size)


@pytest.mark.parametrize("ruin", ["empty", "other", "short", "garbled"])
def test_a_broken_cache_is_rebuilt(place: Path, ruin: str) -> None:
    first = load_drawings("background", place)
    [kept] = archives.cache_folder().glob("*.npz")
    whole = kept.read_bytes()
    middle = len(whole) // 2
    garbled = whole[:middle] + bytes(100) + whole[middle + 100 :]
    broken = {"empty": b"", "other": b"no archive", "short": whole[:-100], "garbled": garbled}
    kept.write_bytes(broken[ruin])
    np.testing.assert_array_equal(load_drawings("background", place).images, first.images)
    assert len(kept.read_bytes()) == len(whole) and kept.read_bytes() != garbled


def test_a_cache_of_another_shape_is_rebuilt(place: Path) -> None:
    load_drawings("background", place)
    [kept] = archives.cache_folder().glob("*.npz")
    with open(kept, "wb") as file:
        np.savez(file, images=np.zeros((4, 20, 5, 5), np.uint8), characters=np.array(CHARACTERS))
    assert load_drawings("background", place).images.shape == (4, 20, 28, 28)


def test_an_unwritable_cache_is_no_error(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "all_runs.zip"))  # a file is no folder
    assert load_drawings("background", place).characters == CHARACTERS


def test_reading_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load_drawings("background", place, reporter=Reporter())
    assert "reading" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Runes/character01/1000_05.png": None}, "Runes/character01 has 19 drawings, not 20"),
        ({"Runes/character01/1000_05.png": draw(seed=1)[1]}, "checksum differs"),
        ({"Runes/character01/1000_05.png": bytes(1 << 17)}, "too large for a drawing"),
    ],
)
def test_archives_that_are_not_the_public_ones(
    place: Path, change: dict[str, bytes | None], message: str
) -> None:
    changed = drawing_files() | change
    files = {name: content for name, content in changed.items() if content is not None}
    pack(place / "images_background.zip", files)
    assert message in refusal(load_drawings, "background", place)
    (place / "images_background.zip").unlink()
    unpack(place / "images_background", files)
    assert message in refusal(load_drawings, "background", place)


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        (b"no picture", "1000_05.png is no drawing"),
        (draw(seed=1)[1][:-40], "1000_05.png is no drawing"),
        (draw(seed=1, side=104)[1], "1000_05.png has 104×104 pixels, not 105×105"),
        (chunks(header(60_000, 60_000)), "1000_05.png is no drawing"),  # a bomb
        (chunks(header(50, 2_000_000_000)), "1000_05.png is no drawing"),
        (chunks(header(105, 105), (b"IDAT", zlib.compress(b""))), "1000_05.png is no drawing"),
        (chunks(header(105, 105), (b"IDAT", b"\xff" * 99)), "1000_05.png is no drawing"),
    ],
)
def test_drawings_that_are_none(
    place: Path, drawing: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = drawing_files() | {"Runes/character01/1000_05.png": drawing}
    expect(monkeypatch, "background", files)
    pack(place / "images_background.zip", files)
    assert message in refusal(load_drawings, "background", place)


def test_a_zip_that_is_none(place: Path) -> None:
    path = place / "images_background.zip"
    path.write_bytes(path.read_bytes()[:5000])
    assert "cut short or no zip" in refusal(load_drawings, "background", place)
    pack(path, {"README.md": b"nothing here"})
    assert "holds no Omniglot images" in refusal(load_drawings, "background", place)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, 99])
def test_a_zip_that_is_packed_otherwise(place: Path, method: int) -> None:
    path = place / "images_background.zip"
    packed = method if method != 99 else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", packed) as zipped:
        zipped.writestr("Runes/character01/1000_01.png", bytes(500))
    content = bytearray(path.read_bytes())
    if method == 99:  # what nobody knows
        for place_of_it in (8, content.index(b"PK\x01\x02") + 10):
            content[place_of_it] = 99
    content[60:70] = b"\xff" * 10  # what LZMA complains about in its own way
    path.write_bytes(content)
    assert "packed in an unknown way" in refusal(load_drawings, "background", place)


def test_an_archive_that_is_too_large_is_not_opened(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LARGEST_ARCHIVE", 100)
    assert "larger than" in refusal(load_drawings, "background", place)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_no_drawing(place: Path) -> None:
    (place / "images_background.zip").unlink()
    unpack(place / "images_background", drawing_files())
    pipe = place / "images_background/Runes/character01/1000_05.png"
    pipe.unlink()
    os.mkfifo(pipe)
    assert "has 19 drawings" in refusal(load_drawings, "background", place)


def test_other_entries_are_ignored(place: Path) -> None:
    odd = {
        "../../escaped/character01/0001_01.png": b"outside",
        "/images_background/Runes/character01/1000_21.png": b"absolute",
        "__MACOSX/images_background/Runes/character01/._1000_01.png": b"resource fork",
        "images_background/Runes/.DS_Store": bytes(1 << 17),
        "images_background/Runes/character01/1000_21.png.exe": b"other",
    }
    files = {f"images_background/{name}": png for name, png in drawing_files().items()}
    pack(place / "images_background.zip", files | odd)
    assert load_drawings("background", place).characters == CHARACTERS
    assert not (place.parent.parent / "escaped").exists()


def test_too_many_files_are_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_FILES", 79)
    assert "too many files" in refusal(load_drawings, "background", place)


@needs_real_images
@pytest.mark.parametrize(
    ("split", "characters", "alphabets"), [("background", 964, 30), ("evaluation", 659, 20)]
)
def test_the_real_drawings(split: str, characters: int, alphabets: int) -> None:
    drawings = load_drawings(split, Path(REAL or ""))  # checks the sha256 on the way
    assert drawings.images.shape == (characters, 20, 28, 28)
    assert len({name.partition("/")[0] for name in drawings.characters}) == alphabets
    assert drawings.characters == sorted(set(drawings.characters))
    ink = drawings.images.mean((1, 2, 3)) / 255
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
