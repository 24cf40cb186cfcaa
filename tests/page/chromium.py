"""One browser that nobody watches, for many pages: the DevTools protocol over a pair of pipes."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")
PATIENCE = 60  # seconds
# Chromium reads commands from 3 and writes answers to 4.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]]
for end, wanted in zip(ends, (3, 4)): os.dup2(end, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A browser with a profile of its own; it ends as a whole, even if it hangs."""

    def __init__(self, profile: Path) -> None:
        theirs, self._to = os.pipe()
        self._from, answers = os.pipe()
        # A build machine's /dev/shm is often too small for it.
        words = [*FLAGS, "--disable-dev-shm-usage", f"--user-data-dir={profile}"]
        command = [sys.executable, "-I", "-S", "-c", LAUNCH, str(theirs), str(answers)]
        self._process = subprocess.Popen(
            [*command, str(BROWSER), *words, "--remote-debugging-pipe"],
            pass_fds=(theirs, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        os.close(answers)
        self._left, self._number = b"", 0
        self._targets: list[str] = []
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def ask(self, method: str, session: str | None = None, **how: Any) -> Any:
        """Give a command, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": how}
        message |= {"sessionId": session} if session else {}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (found := self._hear()).get("id") != self._number:
            self.events.append(found)
        assert "error" not in found, (method, found)
        return found["result"]

    def open_tab(self) -> str:
        """Open an empty tab; return its name."""
        target: str = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._targets.append(target)
        return target

    def close_tabs(self) -> None:
        """Close all tabs: what moves on a page takes time as long as it is open."""
        while self._targets:
            self.ask("Target.closeTarget", targetId=self._targets.pop())

    def wait_for(self, event: str, session: str) -> None:
        """Wait until an event was heard in a session; each is heard once."""
        while True:
            for place, found in enumerate(self.events):
                if found.get("method") == event and found.get("sessionId") == session:
                    del self.events[place]
                    return
            self.events.append(self._hear())

    def _hear(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], until - time.monotonic())
            part = os.read(self._from, 1 << 20) if ready else b""
            assert part, "the browser says nothing"
            self._left += part
        line, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found


class Page:
    """A tab with an address, in a window of some size and scheme."""

    def __init__(self, browser: Browser, width: int = 1280, height: int = 800) -> None:
        self.browser = browser
        target = browser.open_tab()
        attached = browser.ask("Target.attachToTarget", targetId=target, flatten=True)
        self.session: str = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.resize(width, height)

    def ask(self, method: str, **how: Any) -> Any:
        return self.browser.ask(method, self.session, **how)

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, value: str, what: str = "prefers-color-scheme") -> None:
        """Show the page to a reader who prefers this."""
        wish = {"name": what, "value": value}
        self.ask("Emulation.setEmulatedMedia", features=[wish])

    def open(self, address: str) -> None:
        self.ask("Page.navigate", url=address)
        self.browser.wait_for("Page.loadEventFired", self.session)

    def value(self, script: str) -> Any:
        """Return what an expression is worth in the page; of a promise, what it promised."""
        how = {"expression": script, "returnByValue": True, "awaitPromise": True}
        found = self.ask("Runtime.evaluate", **how)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    @property
    def log(self) -> list[str]:
        """What was said of errors, warnings and violations of the page's policy so far."""
        self.value("0")
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        own = [e for e in self.browser.events if e.get("sessionId") == self.session]
        return [json.dumps(event["params"]) for event in own if event["method"] in kinds]

    def shot(self, out: Path) -> None:
        """Write a picture of what the window shows."""
        self.ask("Page.bringToFront")  # a hidden tab is never drawn
        out.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def printed(self) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])
