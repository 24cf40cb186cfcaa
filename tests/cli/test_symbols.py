"""Terminals that know no UTF-8; and what a process that only helps or lists has to import."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reinstate.cli import symbols
from spoken import Command, Said
from tiny import ENVIRONMENT, OPTIONS, reproduced

# Files, too, are in ASCII here unless who opens them says otherwise.
OLD = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}

PROGRAM = """
import io, json, sys
from reinstate.cli import main
encoding, *lines = sys.stdin.read().splitlines()
said, terminal = [], sys.stdout
for line in lines:
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in "oe")
    code = main(line.split())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    streams = (sys.stdout, sys.stderr)
    said.append([code, *(each.buffer.getvalue().decode(encoding) for each in streams)])
json.dump([said, [*sys.modules]], terminal)
"""


def in_terminal(encoding: str, lines: list[str], folder: Path) -> tuple[list[Said], set[str]]:
    """What commands say in a process whose terminal has this encoding; the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input="\n".join([encoding, *lines]),
        cwd=folder,
        env={**ENVIRONMENT, **OLD, "PYTHONIOENCODING": encoding},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said, modules = json.loads(done.stdout)
    return [Said(*each) for each in said], {*modules}


def test_help_and_list_are_quick_and_plain(command: Command, tmp_path: Path) -> None:
    """Neither may wait for JAX: what comes with the package is described in a file of it."""
    lines = ["help", "list", "list --json", "--version", "lst"]
    (shown, listed, as_json, _, wrong), modules = in_terminal("ascii", lines, tmp_path)
    heavy = {"jax", "numpy", "scipy", "equinox", "optax", "matplotlib", "safetensors"}
    assert heavy & modules == set()
    assert shown.code == 0 and shown.out.startswith("usage: reinstate VERB ...\n")
    # In this process everything is loaded, so that here it is described as it is.
    stale = "the listing is not of this version: run `make tables`"
    assert json.loads(as_json.out) == json.loads(command("list --json").out), stale
    assert listed == command("list")
    assert wrong.code == 2 and "did you mean list?" in wrong.err


def test_a_terminal_of_windows(tmp_path: Path) -> None:
    """Its code page knows … and ×, but neither arrows nor Greek nor boxes."""
    reproduced(tmp_path / "x")
    again = f"reproduce barcode-bandits --agents epl2rl l2rl --out x --resume {OPTIONS}"
    lines = [again, f"{again} --learner.lanes 5", "train two-step --help"]
    said, _ = in_terminal("cp1252", lines, tmp_path)
    found, other, shown = said
    assert [each.code for each in said] == [0, 2, 0]
    assert "| epl2rl " in found.out and "next: open x/report.html" in found.out
    assert found.err == "x already holds these results\n"
    assert "(settings.learner.lanes: 4 -> 5)" in other.err
    assert "+- learner options ----" in shown.out and "--track NAME …" in shown.out
    assert "gamma" in shown.out


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        ("γ", "gamma"),
        ("Ω", "Omega"),
        ("→", "->"),
        ("−", "-"),
        ("≥", ">="),
        ("─│╭┼", "-|++"),
        ("●", "@"),
    ],
)
def test_symbols_are_spelled(symbol: str, text: str) -> None:
    symbols.spell_unprintable()
    assert f"a{symbol}b".encode("ascii", symbols.HANDLER) == f"a{text}b".encode()


def test_what_is_no_symbol_of_ours_is_escaped() -> None:
    symbols.spell_unprintable()
    for name in ("Zoë", "\udcff", "日本"):
        plain = name.encode("ascii", symbols.HANDLER)
        assert plain == name.encode("ascii", "backslashreplace")
    assert "γ → é".encode("utf-8", symbols.HANDLER).decode() == "γ → é"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", symbols.HANDLER)


def test_streams_that_are_no_terminals_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook has its own; a program without a console has none."""
    other: Any = object()
    monkeypatch.setattr(sys, "stdout", other)
    monkeypatch.setattr(sys, "stderr", None)
    symbols.spell_unprintable()
    assert sys.stdout is other


def test_every_symbol_in_the_source_is_spelled() -> None:
    """Help shows docstrings: what stands in the source may be printed."""
    source = Path(symbols.__file__).parents[1].rglob("*.py")
    used = {sign for path in source for sign in path.read_text(encoding="utf-8") if ord(sign) > 127}
    assert "".join(sorted(sign for sign in used if not symbols.spelled(sign))) == ""
    assert all(symbols.spelled(sign).isascii() for sign in used)
