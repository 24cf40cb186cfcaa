"""Scripts of examples/ → notebooks with their outputs, which the documentation shows.

    PYTHONPATH=docs/_ext python -m notebooks            executes all and writes docs/notebooks
    PYTHONPATH=docs/_ext python -m notebooks --check    executes and writes nothing

A script is the only source of its notebook. `# %%` begins a cell of code and `# %% [markdown]` one
of text, which is written as comments; so it runs as a plain script, too. What stands above the
first cell is for readers of the script alone.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPTS, FOLDER = ROOT / "examples", ROOT / "docs" / "notebooks"
CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
TIMEOUT = 600  # seconds for a cell: compiling on a busy machine takes long


def scripts() -> dict[str, Path]:
    """Find the scripts that are notebooks: they have cells."""
    found = sorted(SCRIPTS.glob("*.py"))
    return {path.stem: path for path in found if cells_of(path.read_text(encoding="utf-8"))}


def cells_of(script: str) -> list[tuple[str, str]]:
    """Split a script into its cells: their kinds and sources."""
    _, *parts = CELL.split(script)
    cells = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if mark:
            text = re.sub("^# ?", "", text, flags=re.MULTILINE)
        cells.append(("markdown" if mark else "code", text.strip("\n")))
    return cells


def notebook_of(script: str) -> Any:
    """Make a notebook of a script, without outputs."""
    from nbformat import v4

    made = v4.new_notebook(
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for place, (kind, source) in enumerate(cells_of(script)):
        new = v4.new_code_cell if kind == "code" else v4.new_markdown_cell
        made.cells.append(new(source, id=f"cell-{place + 1}"))
    return made


def execute(notebook: Any) -> None:
    """Execute a notebook in an empty folder; times and the kernel's version are not kept."""
    from nbclient import NotebookClient

    metadata = dict(notebook.metadata)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        ).execute()
    notebook.metadata.clear()
    notebook.metadata.update(metadata)


def faults(notebook: Any) -> list[str]:
    """List outputs that no page should show: errors, warnings, paths of this machine."""
    outputs = [each for cell in notebook["cells"] for each in cell.get("outputs", [])]
    homes = (str(ROOT), str(Path.home()), "/home/", "/tmp/", "\\u001b")
    return [
        said[:200]
        for output in outputs
        for said in [json.dumps(output)]
        if output["output_type"] == "error"
        or output.get("name") == "stderr"
        or any(home in re.sub(r'"image/png": "[^"]*"', "", said) for home in homes)
    ]


def main() -> None:
    """Execute notebooks, and write them unless they are only checked."""
    import nbformat

    for name, script in scripts().items():
        print(name, flush=True)
        notebook = notebook_of(script.read_text(encoding="utf-8"))
        execute(notebook)
        if found := faults(notebook):
            sys.exit("\n".join(found))
        if "--check" not in sys.argv:
            text = nbformat.writes(notebook) + "\n"
            (FOLDER / f"{name}.ipynb").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
