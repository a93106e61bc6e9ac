"""A headless Chromium by its DevTools protocol: what a page shows, logs and asks for. No driver, no other language."""

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websocket import WebSocketTimeoutException, create_connection

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "chromium-headless-shell")
OPTIONS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
)
TALLEST = 16_000  # pixels of a picture; Chromium refuses more
START_S, ANSWER_S = 60, 180  # the largest page takes 20 s on a busy machine


class Page:
    """A tab. `errors` is what it logged as an error or raised, `requests` the addresses it asked for."""

    def __init__(self, address: str) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._socket = create_connection(address, timeout=ANSWER_S, suppress_origin=True)
        self._sent = 0
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": parameters}))
        while True:
            said = json.loads(self._socket.recv())
            if said.get("id") == self._sent:
                assert "error" not in said, said
                return said["result"]
            self._note(said)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'", 60)

    def evaluate(self, script: str) -> Any:
        """The value of an expression, or of the promise that it is."""
        said = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def wait(self, condition: str, limit_s: float) -> None:
        until = time.monotonic() + limit_s
        while not self.evaluate(condition):
            assert time.monotonic() < until, f"not within {limit_s} s: {condition}"
            time.sleep(0.3)

    def press(self, key: str, code: int) -> None:
        """A key by its name and its Windows virtual key code."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, file: Path, width: int = 1200) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        height = min(self.evaluate("document.documentElement.scrollHeight"), TALLEST)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        said = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(said["data"]))

    def _note(self, said: dict[str, Any]) -> None:
        facts = said.get("params", {})
        match said.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(facts["exceptionDetails"])[:600])
            case "Runtime.consoleAPICalled" if facts["type"] in ("error", "assert"):
                self.errors.append(
                    str([each.get("value", each.get("description")) for each in facts["args"]])[:600]
                )
            case "Log.entryAdded" if facts["entry"]["level"] == "error":
                self.errors.append(f"{facts['entry']['text']} {facts['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.requests.append(facts["request"]["url"])

    def settle(self, quiet_s: float = 1.0) -> None:
        """Take what it still has to say."""
        self._socket.settimeout(quiet_s)
        try:
            while True:
                self._note(json.loads(self._socket.recv()))
        except WebSocketTimeoutException:
            self._socket.settimeout(ANSWER_S)


@contextmanager
def browser(folder: Path) -> Iterator["Opener"]:
    """Skipped where there is no Chromium; in CI that is a failure."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "no Chromium: apt-get install chromium"
        )
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has no sandbox
    command = [program, *OPTIONS, *alone, f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield Opener(_port(folder / "DevToolsActivePort"))
        finally:
            process.terminate()
            process.wait(20)


class Opener:
    def __init__(self, port: int) -> None:
        self.port = port

    def page(self) -> Page:
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(asked, timeout=ANSWER_S) as answer:
            return Page(json.load(answer)["webSocketDebuggerUrl"])


def _port(file: Path) -> int:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if file.exists() and (lines := file.read_text().split()):
            return int(lines[0])
        time.sleep(0.1)
    raise AssertionError(f"Chromium did not start within {START_S} s")
