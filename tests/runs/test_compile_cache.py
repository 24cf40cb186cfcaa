"""Programs in the user's cache folder: found again, never trusted from others, never in the way."""

import os
import stat
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from reinstate import devices
from reinstate.cli import parse
from reinstate.runs import compile_cache

CACHE = "jax_compilation_cache_dir"
CONFIG = (CACHE, "jax_persistent_cache_min_compile_time_secs")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A user's cache folder, and a JAX that has not been told of any."""
    before = {name: getattr(jax.config, name) for name in CONFIG}
    monkeypatch.delenv(compile_cache.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jax.config.update(CACHE, None)
    yield tmp_path / "cache"
    for name, value in before.items():
        jax.config.update(name, value)


def in_use() -> str | None:
    found: str | None = getattr(jax.config, CACHE)
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def enabled() -> Path:
    folder = compile_cache.enable()
    assert folder is not None
    jax.config.update(CACHE, None)  # for the next call
    return folder


def test_it_is_made_for_the_user_alone(home: Path) -> None:
    folder = compile_cache.enable()
    assert folder and in_use() == str(folder)
    assert folder.parents[2] == home
    assert folder.name.startswith(f"jax-{jax.__version__}-")
    assert {mode(path) for path in (folder, *folder.parents[:3])} == {0o700}


@pytest.mark.parametrize("word", ["off", "0", "No", "false"])
def test_the_variable_switches_it_off(
    home: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv(compile_cache.VARIABLE, word)
    assert compile_cache.enable() is None
    assert in_use() is None and not home.exists()


def test_a_folder_that_the_user_chose_stays(home: Path, tmp_path: Path) -> None:
    jax.config.update(CACHE, str(tmp_path / "own"))
    assert compile_cache.enable() is None
    assert in_use() == str(tmp_path / "own") and not home.exists()


def test_verbs_use_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "divide_cpu", lambda *_: None)
    parse(["train", "barcode-bandits"]).start()
    assert in_use() is not None


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("others", [0o020, 0o002])
def test_what_others_can_write_to_is_refused(level: int, others: int) -> None:
    ours = enabled()
    path = [ours, *ours.parents][level]
    path.chmod(0o700 | others)
    assert compile_cache.enable() is None
    path.chmod(0o755)
    assert enabled() == ours


def test_what_belongs_to_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert compile_cache.enable() is None


def test_a_link_in_its_place_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    home.mkdir()
    (home / "reinstate").symlink_to(tmp_path / "elsewhere")
    assert compile_cache.enable() is None


def test_a_folder_in_which_anybody_could_replace_it_is_refused(home: Path) -> None:
    home.mkdir()
    home.chmod(0o777)
    assert compile_cache.enable() is None
    home.chmod(0o1777)  # as /tmp: everybody deletes their own files only
    assert enabled()


def test_what_cannot_be_written_is_no_failure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write_text("a file")
    assert compile_cache.enable() is None
    home.unlink()
    enabled()
    monkeypatch.setattr(os, "access", lambda *_: False)  # tests may run as root
    assert compile_cache.enable() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    assert compile_cache.enable() is None


def test_where_users_keep_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    for system, folder in {"linux": ".cache", "darwin": "Library/Caches"}.items():
        monkeypatch.setattr(sys, "platform", system)
        assert compile_cache.user_cache() == tmp_path / folder
    monkeypatch.setenv("HOME", "here")
    assert compile_cache.enable() is None


def test_another_cpu_has_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = enabled()
    for number, text in enumerate(("flags : avx2\n", "flags : avx2 avx512f\n")):
        (tmp_path / str(number)).write_text(text)
        monkeypatch.setattr(compile_cache, "CPUINFO", tmp_path / str(number))
        assert enabled() != here
    assert len([*here.parent.iterdir()]) == 3


def test_damaged_programs_are_deleted() -> None:
    folder, whole = enabled(), zlib.compress(bytes(1000))
    decompress = compile_cache._decompressor()
    assert decompress is zlib.decompress, "where zstandard is installed, this needs its files"
    (folder / "whole-cache").write_bytes(whole)
    (folder / "half-cache").write_bytes(whole[: len(whole) // 2])
    (folder / "empty-cache").write_bytes(b"")
    old = folder / "old-cache"
    old.write_bytes(b"looked at before")
    os.utime(old, (0, 0))
    enabled()
    assert sorted(path.name for path in folder.glob("*-cache")) == ["old-cache", "whole-cache"]


def test_the_oldest_programs_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_cache, "LIMIT", 1000)
    folder = enabled()
    other = folder.parent / "jax-0.1"
    other.mkdir()
    for age, path in enumerate([folder / "a-cache", folder / "b-cache", other / "c-cache"]):
        path.write_bytes(zlib.compress(os.urandom(400)))
        os.utime(path, (2_000_000_000 - age, 0))
    enabled()
    assert sorted(path.name for path in folder.parent.rglob("*-cache")) == ["a-cache"]


PROGRAM = """
import warnings; warnings.simplefilter("error")
import jax, sys
from reinstate.runs import compile_cache
folder = compile_cache.enable()
jax.monitoring.register_event_listener(lambda name, **_: print(name))
print(jax.jit(lambda x: (x @ x + 0.1).sum())(jax.numpy.eye(50) / 3))
"""


def in_a_new_process(home: Path) -> tuple[str, list[str]]:
    environment = {n: v for n, v in os.environ.items() if not n.startswith("JAX_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environment, "XDG_CACHE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    *events, result = done.stdout.splitlines()
    return result, [event for event in events if event.endswith(("cache_hits", "cache_misses"))]


def test_a_second_start_compiles_nothing(home: Path) -> None:
    first, missed = in_a_new_process(home)
    second, found = in_a_new_process(home)
    assert first == second
    assert missed and all(event.endswith("misses") for event in missed)
    assert len(found) == len(missed) and all(event.endswith("hits") for event in found)
    for path in home.rglob("*-cache"):
        path.write_bytes(path.read_bytes()[:100])
    assert in_a_new_process(home)[0] == first
