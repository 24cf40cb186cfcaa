"""Scripts of examples/ → notebooks with their outputs, which the documentation shows.

    PYTHONPATH=docs/_ext python -m notebooks            executes all and writes docs/notebooks
    PYTHONPATH=docs/_ext python -m notebooks NAME …     some of them
    PYTHONPATH=docs/_ext python -m notebooks --check    executes and writes nothing

A script is the only source of its notebook. `# %%` begins a cell of code and `# %% [markdown]` one
of text, which is written as comments; so it runs as a plain script, too. What stands above the
first cell is for readers of the script alone.
"""

import argparse
import base64
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal, NamedTuple

ROOT = Path(__file__).parents[2]
SCRIPTS, FOLDER = ROOT / "examples", ROOT / "docs" / "notebooks"
MARK, TEXT = "# %%", "# %% [markdown]"
TIMEOUT = 600  # seconds for a cell: compiling on a busy machine takes long
LARGEST_FIGURE = 60_000  # bytes of a PNG file


class Cell(NamedTuple):
    """A cell of a notebook, as its script has it."""

    kind: Literal["code", "markdown"]
    source: str


def scripts() -> dict[str, Path]:
    """Find the scripts that are notebooks: they have cells."""
    found = sorted(SCRIPTS.glob("*.py"))
    return {path.stem: path for path in found if cells_of(path.read_text(encoding="utf-8"))}


def cells_of(script: str) -> list[Cell]:
    """Split a script into its cells."""
    cells: list[Cell] = []
    lines: list[str] = []
    for line in [*script.splitlines(), MARK]:
        if line.strip() not in (MARK, TEXT):
            lines.append(line)
            continue
        if lines and cells:
            cells[-1] = _filled(cells[-1].kind, lines)
        cells.append(Cell("markdown" if line.strip() == TEXT else "code", ""))
        lines = []
    return cells[:-1]


def _filled(kind: Literal["code", "markdown"], lines: list[str]) -> Cell:
    if kind == "markdown":
        lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
    return Cell(kind, "\n".join(lines).strip("\n"))


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
    """Execute a notebook in an empty folder, so that it gets outputs.

    What changes by itself, such as times or the kernel's version, is not kept.
    """
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
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if figure := output.get("data", {}).get("image/png"):
                output["data"]["image/png"] = smaller(figure)


def smaller(figure: str) -> str:
    """Re-encode a PNG in base64 with 256 colours: figures of few colours shrink to a third."""
    from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(figure))) as image:
        flat = Image.new("RGB", image.size, "white")
        flat.paste(image, mask=image.convert("RGBA").getchannel("A"))
    buffer = io.BytesIO()
    flat.quantize(256).save(buffer, format="png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def faults(notebook: Any) -> list[str]:
    """Say what no page should show: errors, warnings, large figures, paths of this machine."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            found += [f"{cell['id']}: {fault}" for fault in _faults_of(output)]
    return found


def _faults_of(output: Any) -> list[str]:
    found = []
    if output["output_type"] == "error":
        found.append(f"an error, {output['ename']}")
    if output.get("name") == "stderr":
        found.append(f"something on stderr, {''.join(output['text'])[:80]!r}")
    if len("".join(output.get("data", {}).get("image/png", ""))) > LARGEST_FIGURE * 4 / 3:
        found.append(f"a figure of more than {LARGEST_FIGURE} bytes")
    if output["output_type"] == "display_data" and "image/png" not in output["data"]:
        found.append("a figure that is not shown, only named")
    text = {"text": output.get("text"), **output.get("data", {})}
    text.pop("image/png", None)
    said = json.dumps(text)
    if "\\u001b" in said:
        found.append("codes that colour a terminal")
    homes = {str(ROOT), str(Path.home()), tempfile.gettempdir(), sys.prefix, "/home/", "/tmp/"}
    return found + [f"a path, {home}" for home in sorted(homes - {"/"}) if home in said]


def main(arguments: list[str] | None = None) -> int:
    """Execute notebooks, and write them unless they are only checked."""
    import nbformat
    from nbclient.exceptions import CellExecutionError

    known = scripts()
    parser = argparse.ArgumentParser(prog="notebooks", description="Execute the notebooks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; by default all")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no notebook is called {unknown[0]}: there are {', '.join(known)}")
    failed = False
    for name in options.names or known:
        print(name, flush=True)
        notebook = notebook_of(known[name].read_text(encoding="utf-8"))
        try:
            execute(notebook)
        except CellExecutionError as error:
            print(error)
            failed = True
            continue
        if options.check:
            continue
        if found := faults(notebook):
            print(*found, sep="\n")
            failed = True
            continue
        FOLDER.mkdir(exist_ok=True)
        text = nbformat.writes(notebook) + "\n"
        (FOLDER / f"{name}.ipynb").write_text(text, encoding="utf-8", newline="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
