"""axe-core, where it is there: what it holds against a page (`npm install axe-core`)."""

import os
from pathlib import Path
from typing import Any

import pytest

from page.chromium import Page

FOUND = Path(os.environ.get("REINSTATE_AXE", "node_modules/axe-core/axe.min.js"))
RUN = """(async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const found = await axe.run(document, { resultTypes: ["violations"] });
  const told = found.violations.map((each) =>
    `${each.id}: ${each.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
  return { told, passes: found.passes.length };
})()"""

needed = pytest.mark.skipif(not FOUND.is_file(), reason="no axe-core: npm install axe-core")


def load(page: Page) -> None:
    """Give axe-core to a page that is open; the debugger may run any script."""
    page.value(FOUND.read_text(encoding="utf-8"))


def violations(page: Page) -> list[str]:
    """Return what is wrong with a page, with everything in it unfolded."""
    told: Any = page.value(RUN)
    assert told["passes"] > 10  # it did look
    return list(told["told"])
