"""`reinstate pretrain omniglot`, as a user meets it."""

import json
import re
import signal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from omniglot.tiny_archives import SPLITS, draw, expect, pack, run_files
from reinstate.files import write_json
from reinstate.runs.progress import Reporter
from reinstate.runs.run import Run
from reinstate_paper import pretrain as commands_pretrain
from reinstate_paper.omniglot import pretraining
from reinstate_paper.omniglot.embedder import packaged_file
from reinstate_paper.omniglot.images import VARIABLE
from reinstate_paper.omniglot.pretraining import PRESETS
from spoken import Command, assert_refused, in_this_process
from tiny import interrupt

OPTIONS = (
    "--epochs 1 --characters 4 --showings 2 --batch 2 --network.channels 2 4"
    " --network.embedding-size 8 --network.norm-groups 2 --memory.slots 8 --distortion.rotation 0"
    " --distortion.scale 0 --distortion.shear 0 --distortion.shift 0"
)
LINE = f"pretrain omniglot --images images {OPTIONS}"
SHIPPED_CARD = json.loads(packaged_file("card.json").read_text())


@cache
def drawings(split: str) -> dict[str, bytes]:
    """Twenty characters, as the largest test asks for."""
    return {
        f"Runes/character{n + 1:02d}/{n + 1:04d}_{drawer + 1:02d}.png": draw(
            seed=10_000 * SPLITS.index(split) + 20 * n + drawer
        )[1]
        for n in range(20)
        for drawer in range(20)
    }


@pytest.fixture
def command(
    surroundings: None,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Command:
    """From an empty folder of its own, beside the cache."""
    monkeypatch.setattr(pretraining, "TRIALS", 20)
    return in_this_process(capfd, monkeypatch, tmp_path / "here")


@pytest.fixture
def images(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here" / "images"
    for split in SPLITS:
        expect(monkeypatch, split, drawings(split))
        pack(folder / f"images_{split}.zip", drawings(split))
    expect(monkeypatch, "one-shot runs", run_files())
    pack(folder / "all_runs.zip", run_files())
    return folder


def test_stop_resume_and_what_comes_out(
    command: Command, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between the last epoch and the test of it: what is left needs no compiling."""
    note = Reporter.note

    def stop(self: Reporter, text: str) -> None:
        note(self, text)
        if text.startswith("pretraining: epoch 1/1"):
            interrupt(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "note", stop)
        said = command(f"{LINE} --out out")
    assert (said.code, said.out) == (130, "")
    line = "reinstate: pretraining stopped after epoch 1 of 1: --resume continues\n"
    assert said.err.endswith(f"\n{line}")
    assert_refused(command(f"{LINE} --out out"), "out is not empty: add --resume")
    assert_refused(command(f"{LINE} --seed 1 --out out --resume"), "(seed: 0 → 1)")

    said = command(f"{LINE} --out out --resume")
    assert said.code == 0, said.err
    assert [row["epoch"] for row in Run(Path("out")).read_metrics()] == [1]
    card = json.loads(Path("out/card.json").read_text())
    assert card["command"] == f"reinstate {LINE} --out out"
    assert card["settings"]["network"]["channels"] == [2, 4]
    assert card["settings"]["weight_decay"] == PRESETS["quick"].weight_decay
    check_table(said.out, card)
    assert "embeddings.safetensors and card.json are in out\nnext: reinstate train" in said.out


def check_table(out: str, card: dict[str, Any]) -> None:
    assert max(map(len, out.splitlines())) <= 80
    assert [(row["way"], row["shot"]) for row in card["few_shot"]][-1] == (20, 5)
    for row in card["few_shot"]:
        rule = "nearest example" if row["rule"] == "nearest" else "nearest class mean"
        shown = rf"{row['way']}-way {row['shot']}-shot +│ {rule} +│ +{row['accuracy']:.2%} ± .*"
        assert re.search(f"{shown} {row['kaiser_2017']:.1%} │", out)
    assert re.search(rf"Lake's 2 runs +│.* {card['one_shot_runs']['accuracy']:.2%} ±", out)
    assert "pixels alone" in out


def test_where_images_come_from(
    command: Command, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def trained(settings: Any, drawn: Any, out: Path, *_: Any) -> None:
        asked.append((len(drawn.background), len(drawn.evaluation), len(drawn.runs)))
        write_json(out / "card.json", {**SHIPPED_CARD, "epochs": settings.epochs})

    monkeypatch.setattr(commands_pretrain, "pretrain", trained)
    monkeypatch.setattr(commands_pretrain, "download", lambda to, _: asked.append(to))
    said = command("pretrain omniglot --images images --download --json --epochs 7 --out a")
    assert said.code == 0 and json.loads(said.out) == {"run": "a", **SHIPPED_CARD, "epochs": 7}
    assert asked == [Path("images"), (20, 20, 2)]
    monkeypatch.setenv(VARIABLE, str(images.rename(images.with_name("elsewhere"))))
    said = command("pretrain omniglot --json --preset plain")
    found = json.loads(said.out)
    assert (found["run"], found["epochs"]) == ("runs/omniglot-plain", PRESETS["plain"].epochs)
    assert asked[2:] == [(20, 20, 2)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("omniglto", "unknown drawings 'omniglto': did you mean omniglot?"),
        ("", "pretrain needs what to learn from first: reinstate pretrain … (known: omniglot)"),
        ("omniglot --preset papr", "unknown preset 'papr': did you mean paper?"),
        ("omniglot --epoch 3", "did you mean --epochs?"),
        ("omniglot --batch 7", "batch = 7 must divide the epoch's 64 characters"),
        ("omniglot --images nowhere", "there is no images_background.zip of Omniglot in nowhere"),
        ("omniglot --out full", "full is not empty: add --resume to continue it"),
    ],
)
def test_a_mistake_is_one_line(command: Command, line: str, message: str) -> None:
    Path("full").mkdir()
    Path("full/thesis.tex").write_text("years of work")
    assert_refused(command(f"pretrain {line}"), message)
    assert [str(path) for path in Path().rglob("*")] == ["full", "full/thesis.tex"]
