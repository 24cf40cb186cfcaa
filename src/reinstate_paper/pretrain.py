"""The verb `pretrain`: drawings → an embedder, its embeddings, and a card of what they can do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from reinstate.cli.parsing import Worded, peek
from reinstate.cli.shared import Flag, Verb, shown
from reinstate.cli.tables import print_table, say, say_next
from reinstate.errors import UserError, nearest
from reinstate.files import require_empty
from reinstate.runs.progress import Reporter
from reinstate_paper.omniglot.images import download, load_drawings, load_one_shot_runs
from reinstate_paper.omniglot.pretraining import PRESETS, Drawn, pretrain, read_card
from reinstate_paper.omniglot.teaching import Pretraining

RULES = {"nearest": "nearest example", "class-mean": "nearest class mean"}


@dataclass(frozen=True, kw_only=True)
class Pretrain(Worded, Verb):
    """Train an embedder of drawings, whose embeddings are the contexts of Omniglot bandits.

    It is a convolutional network after Kaiser et al. 2017, trained on Omniglot's background
    characters. Presets are quick (a CPU), plain (Kaiser's own) and paper (an accelerator).

      reinstate pretrain omniglot --download
      reinstate pretrain omniglot --preset paper --images FOLDER --out runs/embedder

    `reinstate pretrain omniglot --help` explains every setting.
    """

    first: ClassVar = "what to learn from"
    placeholder: ClassVar = "omniglot"
    settings: Annotated[Pretraining, tyro.conf.arg(name="")]
    preset: str
    """Where defaults come from: quick (a CPU), plain (Kaiser's own) or paper (an accelerator)."""
    out: Path
    """Folder for everything that is written."""
    images: Annotated[Path | None, shown("DIR", "$REINSTATE_OMNIGLOT or cache")] = None
    """Where Omniglot's archives are."""
    download: Flag = False
    """Fetch the archives that are not there yet, to the same folder."""
    resume: Flag = False
    """Continue what an interrupted call left in --out."""

    def do(self, command: str) -> Any:
        if not self.resume:
            require_empty(self.out, "add --resume to continue it, or choose another --out")
        reporter = Reporter()
        if self.download:
            download(self.images, reporter)
        background, evaluation = (
            load_drawings(split, self.images, reporter=reporter)
            for split in ("background", "evaluation")
        )
        drawn = Drawn(background, evaluation, load_one_shot_runs(self.images))
        pretrain(self.settings, drawn, self.out, reporter, self.resume, command)
        return {"run": str(self.out), **read_card(self.out / "card.json")}

    def show(self, result: Any) -> None:
        print_card(result)
        say(f"embedder.safetensors, embeddings.safetensors and card.json are in {self.out}")
        say_next(["reinstate", "train", "omniglot-bandits"], "train agents on shipped embeddings")

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"omniglot": "drawings of 1,623 characters (Lake et al. 2015)"}

    @classmethod
    def for_word(cls, word: str, arguments: list[str]) -> tuple[Any, Any]:
        if word not in cls.words():
            raise UserError(nearest("drawings", word, cls.words()))
        preset = peek(arguments, "--preset", "quick")
        if preset not in PRESETS:
            raise UserError(nearest("preset", preset, PRESETS))
        out = Path("runs") / f"omniglot-{preset}"
        return cls, cls(settings=PRESETS[preset], preset=preset, out=out)


def print_card(card: dict[str, Any]) -> None:
    """Print how many drawings of new characters are recognised, and what Kaiser et al. report."""
    title = "drawings of unseen characters recognised"
    rows = []
    for row in card["few_shot"]:
        test = f"{row['way']}-way {row['shot']}-shot"
        rule = RULES.get(row["rule"], row["rule"])
        rows.append([test, rule, _percent(row), f"{row['kaiser_2017']:.1%}"])
    runs = card["one_shot_runs"]
    rows.append([f"Lake's {runs['runs']} runs", "nearest example", _percent(runs), ""])
    rows.append(["20-way 1-shot", "pixels alone", f"{card['pixels_20_way_1_shot']:.2%}", ""])
    print_table(title, ["test", "by"], ["accuracy ± s.e.", "Kaiser 2017"], rows)
    say(f"{card['epochs']:,} epochs, {card['seconds']:.0f} s of training on {card['device']}")


def _percent(row: dict[str, Any]) -> str:
    return f"{row['accuracy']:.2%} ± {row['standard_error']:.2%}"
