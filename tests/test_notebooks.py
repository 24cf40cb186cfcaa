"""The notebooks in the documentation: each is its script, with outputs that anyone may see.

Whether they run is for `make notebooks` to say.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import notebooks

LARGEST = 400_000  # bytes of all of them


def read(name: str) -> Any:
    return json.loads((notebooks.FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def test_every_script_has_its_notebook() -> None:
    made = {path.stem for path in notebooks.FOLDER.glob("*.ipynb")}
    assert made == notebooks.scripts().keys() and len(made) >= 3


@pytest.mark.parametrize("name", notebooks.scripts())
def test_a_notebook_is_its_script(name: str) -> None:
    script = notebooks.cells_of(notebooks.scripts()[name].read_text(encoding="utf-8"))
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in read(name)["cells"]]
    assert found == script, "make notebooks-write"
    compile("\n".join(source for kind, source in script if kind == "code"), name, "exec")


@pytest.mark.parametrize("name", notebooks.scripts())
def test_a_notebook_was_executed_and_shows_nothing_of_a_machine(name: str) -> None:
    notebook = read(name)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert notebooks.faults(notebook) == []
    assert notebook["metadata"]["language_info"] == {"name": "python"}


def test_notebooks_stay_small() -> None:
    assert sum(path.stat().st_size for path in notebooks.FOLDER.iterdir()) < LARGEST


def test_scripts_are_split_into_cells() -> None:
    script = (
        "# for readers\n\n# %% [markdown]\n# # Title\n#\n# text\n\n# %%\nx = 1  # %%\n\n\n# %%\nx\n"
    )
    assert notebooks.cells_of(script) == [
        ("markdown", "# Title\n\ntext"),
        ("code", "x = 1  # %%"),
        ("code", "x"),
    ]
    assert notebooks.cells_of("print('no cells')\n") == []


def test_what_no_page_should_show_is_found() -> None:
    shown = [
        {"output_type": "error", "ename": "ValueError"},
        {"output_type": "stream", "name": "stderr", "text": ["UserWarning\n"]},
        {"output_type": "stream", "name": "stdout", "text": [f"{Path.home()}/runs\n"]},
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[1mbold\n"]},
    ]
    for output in shown:
        assert notebooks.faults({"cells": [{"id": "one", "outputs": [output]}]}) != []
    plain = {"output_type": "stream", "name": "stdout", "text": ["reward 1/2\n"]}
    assert notebooks.faults({"cells": [{"id": "one", "outputs": [plain]}]}) == []
