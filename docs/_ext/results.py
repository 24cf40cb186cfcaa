"""Directives and a role that put recorded results on a page; report.html of them beside the pages.

```{results} barcode-bandits        also growth, classes, embedder, strategies, tried, inputs,
```                                 searches, verdicts, claims, paper-claims, our-claims,
                                    agreement, optimum, command, cell-sizes, cell-clips,
                                    cell-variants, cell-commands, recognition-worth,
                                    recognition-parts, recognition-tried, recall-policies,
                                    recall-observers: each takes names of recorded files
```{solved} compositional-bandits   the optimum, solved now
```{recorded-files}                 what is in results/
```{margins}                        also coverage, verdict-rates: what the program's rules come to
```{verbs}                          of the command
```{settings} reinstate.tasks.water_maze.WaterMaze     or NAME SECTION, as network.recognition
{recorded}`water-maze agents.epl2rl.reward.mean .2f`
"""

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective, SphinxRole

import recorded
from reinstate.cli import VERBS
from reinstate.errors import UserError
from reinstate.experiments import EXPERIMENTS
from reinstate.report import write_page


class Table(SphinxDirective):
    """Text made at build time, read as Markdown."""

    final_argument_whitespace = True

    def text(self) -> str:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        try:
            return self.parse_text_to_nodes(self.text())
        except (KeyError, OSError, ValueError, AttributeError, ImportError, UserError) as error:
            raise self.error(f"{self.name}: {error!r}") from error


class Recorded(Table):
    required_arguments = 1

    def text(self) -> str:
        names = self.arguments[0].split()
        for name in names:
            self.env.note_dependency(str(recorded.file_of(name)))
        return recorded.table(self.name, names)


class Solved(Table):
    required_arguments = 1

    def text(self) -> str:
        return recorded.solved_table(self.arguments[0])


class Computed(Table):
    def text(self) -> str:
        return recorded.COMPUTED[self.name]()


class RecordedFiles(Table):
    def text(self) -> str:
        return recorded.files_table()


class Verbs(Table):
    """The command's verbs, and what each is for."""

    def text(self) -> str:
        rows = [[f"`reinstate {verb}`", line] for verb, line in VERBS.items()]
        return recorded.markdown(["verb", "to"], rows)


class SettingsTable(Table):
    """The fields of a settings dataclass: flag, default, and the line that explains it."""

    required_arguments = 1

    def text(self) -> str:
        where, *section = self.arguments[0].split()  # of the settings; a task's unless it is named
        prefix = section[0] if section else "task"
        module, _, name = where.rpartition(".")
        kind: Any = getattr(import_module(module), name)
        rows = []
        for field in dataclasses.fields(kind):
            flag = f"`--{prefix}.{field.name.replace('_', '-')}`"
            rows.append([flag, f"`{field.default}`", explained(kind, field.name)])
        return recorded.markdown(["setting", "default", "meaning"], rows)


def explained(kind: type, field: str) -> str:
    """Return the string below a field, of the class or of one it inherits from."""
    for base in kind.__mro__:
        found = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        if (base.__name__, field) in found:
            return " ".join(found[base.__name__, field]).strip()
    raise KeyError(f"{kind.__name__}.{field} has no docstring")


class Number(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            self.env.note_dependency(str(recorded.file_of(self.text.split()[0])))
            return [nodes.Text(recorded.number(self.text))], []
        except (LookupError, OSError, ValueError, TypeError, UserError) as error:
            message = self.inliner.reporter.error(f"recorded: {error!r}", line=self.lineno)
            return [], [message]


def write_report(app: Sphinx, exception: Exception | None) -> None:
    """What `reinstate report` makes of the recorded results."""
    if exception is None and app.builder.format == "html":
        folders = [recorded.file_of(name).parent for name in EXPERIMENTS]
        write_page(folders, Path(app.outdir) / "report.html")


def setup(app: Sphinx) -> dict[str, Any]:
    for kind in recorded.MADE:
        app.add_directive(kind, Recorded)
    for kind in recorded.COMPUTED:
        app.add_directive(kind, Computed)
    app.add_directive("solved", Solved)
    app.add_directive("recorded-files", RecordedFiles)
    app.add_directive("verbs", Verbs)
    app.add_directive("settings", SettingsTable)
    app.add_role("recorded", Number())
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
