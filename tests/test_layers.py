"""The house: an inner room never imports an outer one, and no room gets out of hand."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import reinstate

SOURCE = Path(reinstate.__file__).parent

# Rooms in the order in which data walks through them, the innermost first.
ROOMS = """
errors registry files draws processes tasks memory cell player rollout recompute agent
rivals learner evaluation settings devices baselines analysis choices figures
runs testing interop page cli __init__ __main__
""".split()  # noqa: SIM905


def room_of(path: Path) -> str:
    """Name the room of a module; the page shows runs, which draw figures, so it is its own."""
    inner, *rest = path.relative_to(SOURCE).with_suffix("").parts
    return "page" if (inner, *rest[:1]) == ("figures", "page") else inner


def imported(path: Path, source: str | None = None) -> Iterator[str]:
    """Names of what a module imports, at its top or anywhere else."""
    for node in ast.walk(ast.parse(path.read_text() if source is None else source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "reinstate":
            yield from (f"reinstate.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def imported_rooms(path: Path, source: str | None = None) -> Iterator[str]:
    names = (name for name in imported(path, source) if name.startswith("reinstate."))
    return (room_of(SOURCE.joinpath(*name.split(".")[1:])) for name in names)


def imports_of_the_study(path: Path) -> bool:
    """Whether a module imports the study, which only registers with the library."""
    return any(name.split(".")[0] == "reinstate_paper" for name in imported(path))


def outward(path: Path, source: str | None = None) -> list[str]:
    """Imports of a module that lead to a room further out."""
    own = ROOMS.index(room_of(path))
    return [f"{path.name} → {r}" for r in imported_rooms(path, source) if ROOMS.index(r) > own]


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_every_room_is_in_the_order() -> None:
    assert {room_of(path) for path in modules()} == set(ROOMS)


def test_no_room_imports_one_further_out() -> None:
    assert [found for path in modules() for found in outward(path)] == []


def test_the_library_never_imports_the_study() -> None:
    assert [path.name for path in modules() if imports_of_the_study(path)] == []


def test_an_import_that_leads_outward_is_noticed() -> None:
    inner = SOURCE / "tasks" / "bandits.py"
    assert outward(inner, "from reinstate.runs.run import Run") == ["bandits.py → runs"]
    assert outward(inner, "def f():\n    from reinstate import learner") == ["bandits.py → learner"]
    assert outward(inner, "import reinstate.processes") == []


def test_the_top_level_stays_small() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 16


def test_functions_fit_a_screen() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    long = [
        f"{path.name}:{node.name}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, kinds) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert long == []


def test_a_task_loads_nothing_of_learning_or_of_runs() -> None:
    code = "import sys, reinstate.tasks.bandits; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "reinstate.tasks.bandits" in loaded
    for name in ("optax", "equinox", "rich", "reinstate.learner", "reinstate.runs"):
        assert name not in loaded


def test_help_loads_few_modules_and_no_charts() -> None:
    """Help is what people wait for most often."""
    code = "import sys\nfrom reinstate.cli import main\nmain(sys.argv[1:])\nprint(*sys.modules)"
    words = ["reproduce", "barcode-bandits", "--help"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "reinstate_paper.barcode_bandits" in loaded, done.stderr
    assert sum(name.split(".")[0].startswith("reinstate") for name in loaded) <= 70
    assert {"scipy.stats", "matplotlib", "reinstate.runs.reproduce"}.isdisjoint(loaded)
