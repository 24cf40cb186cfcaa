"""The verb `pretrain`: drawings → an embedder, its embeddings, and a card of what they can do."""

import json
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from reinstate.cli.options import PretrainOptions, parse, peek, wants_help
from reinstate.errors import UserError, nearest
from reinstate.files import read_json, require_empty
from reinstate.omniglot.download import download
from reinstate.omniglot.images import load_drawings, load_one_shot_runs
from reinstate.omniglot.pretraining import PRESETS, Drawn, pretrain
from reinstate.runs.progress import Reporter

PROGRAM = "reinstate pretrain omniglot"
HELP = f"""\
usage: {PROGRAM} [OPTIONS]

Train the embedder of drawings whose embeddings are contexts of the bandits: a convolutional network
after Kaiser et al. 2017, on Omniglot's background characters. Presets: {", ".join(PRESETS)}.

  {PROGRAM} --download
  {PROGRAM} --preset paper --images FOLDER --out runs/embedder

`{PROGRAM} --help` explains every setting.
"""


def pretrain_command(arguments: list[str]) -> None:
    if not arguments or (arguments[0].startswith("-") and wants_help(arguments)):
        print(HELP, end="")
        return
    if arguments[0].startswith("-"):
        raise UserError(f"pretrain needs what to learn from first: {PROGRAM}")
    if arguments[0] != "omniglot":
        raise UserError(nearest("drawings", arguments[0], ["omniglot"]))
    options = _options(arguments[1:])
    if not options.resume:
        require_empty(options.out, "add --resume to continue it, or choose another --out")
    reporter = Reporter()
    if options.download:
        download(options.images, reporter)
    drawn = _drawn(options.images, reporter)
    command = shlex.join(["reinstate", "pretrain", *arguments])
    pretrain(options.settings, drawn, options.out, reporter, options.resume, command)
    card = read_json(options.out / "card.json")
    if options.json:
        print(json.dumps({"run": str(options.out), **card}))
        return
    print_card(card)
    print(f"embedder.safetensors, embeddings.safetensors and card.json are in {options.out}")


def _options(arguments: list[str]) -> PretrainOptions:
    preset = peek(arguments, "--preset", "quick")
    if preset not in PRESETS:
        raise UserError(nearest("preset", preset, PRESETS))
    default = PretrainOptions(PRESETS[preset], preset, Path("runs") / f"omniglot-{preset}")
    options: PretrainOptions = parse(PretrainOptions, arguments, default, PROGRAM)
    return options


def _drawn(images: Path | None, reporter: Reporter) -> Drawn:
    background, evaluation = (
        load_drawings(split, images, reporter=reporter).images
        for split in ("background", "evaluation")
    )
    return Drawn(background, evaluation, load_one_shot_runs(images))


def print_card(card: dict[str, Any]) -> None:
    """How many drawings of strange characters are recognised, beside what Kaiser et al. report."""
    table = Table(title="drawings of unseen characters recognised", title_justify="left")
    for column in ("test", "by"):
        table.add_column(column)
    for column in ("accuracy ± s.e.", "Kaiser 2017"):
        table.add_column(column, justify="right")
    for row in card["few_shot"]:
        test = f"{row['way']}-way {row['shot']}-shot"
        rule = "nearest example" if row["rule"] == "nearest" else "nearest class mean"
        table.add_row(test, rule, _percent(row), f"{row['kaiser_2017']:.1%}")
    runs = card["one_shot_runs"]
    table.add_row(f"Lake's {runs['runs']} runs", "nearest example", _percent(runs), "")
    table.add_row("20-way 1-shot", "pixels alone", f"{card['pixels_20_way_1_shot']:.2%}", "")
    Console().print(table)
    print(f"{card['epochs']:,} epochs, {card['seconds']:.0f} s of training on {card['device']}")


def _percent(row: dict[str, Any]) -> str:
    return f"{row['accuracy']:.2%} ± {row['standard_error']:.2%}"
