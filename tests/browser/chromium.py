"""A headless Chromium, driven over the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import aiohttp

from tools import build

_SECONDS = 30.0
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # the tests run as root in a container; pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


class Browser:
    """One Chromium with one page. Every method waits for the browser's answer; ``events`` collects what it said."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, runner: asyncio.Runner) -> None:
        """Use :func:`running`."""
        self._socket = socket
        self._runner = runner
        self._session = ""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def attach(self) -> Self:
        """Open the page that the other methods are about."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility", "DOM"):
            self.call(f"{domain}.enable")
        return self

    def call(self, method: str, **parameters: Any) -> Any:  # noqa: ANN401 (JSON)
        """Call a method of the protocol and return its result. Raises AssertionError if the browser rejects."""
        return self._runner.run(asyncio.wait_for(self._call(method, parameters), _SECONDS))

    def event(self, name: str) -> dict[str, Any]:
        """Wait for the next event of this name and return its parameters."""
        return self._runner.run(asyncio.wait_for(self._event(name), _SECONDS))

    def show(self, page: Path, *, width: int = 1280, height: int = 800, scheme: str = "light") -> None:
        """Load a file in a window of this size, and wait until it is loaded."""
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.event("Page.loadEventFired")

    def evaluate(self, script: str) -> Any:  # noqa: ANN401 (JSON)
        """Run JavaScript in the page and return its value. Raises AssertionError if it throws."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press and release keys by name: ``Tab``, ``Enter``, ``a``."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        for key in keys:
            text = {"Enter": "\r", "Tab": "", "Escape": ""}.get(key, key)
            event = {"key": key, "text": text, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def accessible(self) -> list[dict[str, Any]]:
        """The accessibility tree's nodes that are not ignored, with ``role`` and ``name`` as text."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            {**node, "role": node["role"]["value"], "name": node.get("name", {}).get("value", "")}
            for node in nodes
            if not node["ignored"]
        ]

    async def _call(self, method: str, parameters: dict[str, Any]) -> Any:  # noqa: ANN401 (JSON)
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json({**message, **({"sessionId": self._session} if self._session else {})})
        while True:
            answer = json.loads(await self._socket.receive_str())
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    async def _event(self, name: str) -> dict[str, Any]:
        while True:
            for each in self.events:
                if each.get("method") == name:
                    return dict(each["params"])
            self.events.append(json.loads(await self._socket.receive_str()))


@contextlib.contextmanager
def running() -> Iterator[Browser]:
    """Start Chromium with a profile of its own; at the end neither process nor file is left."""
    with tempfile.TemporaryDirectory(prefix="chromium-") as folder, asyncio.Runner() as runner:
        process = subprocess.Popen(
            [build.ensure("chromium"), *_OPTIONS, f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder},
            start_new_session=True,
        )
        try:
            address = _address(Path(folder) / "DevToolsActivePort", process)
            session, socket = runner.run(_connected(address))
            try:
                yield Browser(socket, runner).attach()
            finally:
                runner.run(_closed(session, socket))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


async def _connected(address: str) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse]:
    session = aiohttp.ClientSession()
    return session, await session.ws_connect(address, max_msg_size=0)


async def _closed(session: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse) -> None:
    await socket.close()
    await session.close()


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    """The browser's address, which it writes into its profile: a port, and a path below it."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, f"Chromium ended with {process.returncode}"
        with contextlib.suppress(FileNotFoundError):
            lines = file.read_text().split("\n")
            if len(lines) > 1:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise AssertionError(f"Chromium did not start within {_SECONDS:.0f} s")
