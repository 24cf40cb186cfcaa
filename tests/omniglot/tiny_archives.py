"""Archives laid out like the public ones, small enough to be made for each test."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from reinstate.errors import UserError
from reinstate_paper.omniglot.images import ARCHIVES, content_sha256

CHARACTERS = [f"{alphabet}/character0{n}" for alphabet in ("Runes", "Sigils_(old)") for n in (1, 2)]
ANSWERS = {"run01": [2, 0, 1], "run02": [0, 2, 1]}
SPLITS = ("background", "evaluation")


def draw(*, seed: int, side: int = 105) -> tuple[NDArray[np.bool_], bytes]:
    ink = np.random.default_rng(seed).random((side, side)) < 0.1
    buffer = io.BytesIO()
    Image.fromarray(~ink).save(buffer, "PNG")
    return ink, buffer.getvalue()


def drawing_files(seed: int = 0) -> dict[str, bytes]:
    return {
        f"{character}/{1000 + i:04d}_{drawer:02d}.png": draw(seed=seed + 20 * i + drawer)[1]
        for i, character in enumerate(CHARACTERS)
        for drawer in range(1, 21)
    }


def run_files() -> dict[str, bytes]:
    files = {}
    for run, answers in ANSWERS.items():
        for i, answer in enumerate(answers):
            files[f"{run}/training/class0{i + 1}.png"] = draw(seed=900 + i)[1]
            files[f"{run}/test/item0{i + 1}.png"] = draw(seed=900 + answer)[1]
        pairs = [(f"item0{i + 1}", f"class0{a + 1}") for i, a in enumerate(answers)]
        lines = [f"{run}/test/{item}.png {run}/training/{a}.png\n" for item, a in pairs]
        files[f"{run}/class_labels.txt"] = "".join(lines).encode()
    return files


def pack(path: Path, files: dict[str, bytes], inside: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in sorted(files, reverse=True):  # the order of an archive means nothing
            zipped.writestr(inside + name, files[name])
    return path


def expect(monkeypatch: pytest.MonkeyPatch, name: str, files: dict[str, bytes]) -> None:
    """Take these files for the public ones."""
    public = ARCHIVES[name]._replace(sha256=content_sha256(files))
    monkeypatch.setitem(ARCHIVES, name, public)


def refusal(call: Any, *args: Any, **settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        call(*args, **settings)
    message = str(caught.value)
    assert "\n" not in message
    return message
