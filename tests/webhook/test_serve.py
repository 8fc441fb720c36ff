"""``multiarch webhook serve`` as a process: its start, its signals, its exit codes."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from multiarch.schema.webhook_installation import BASE_MIB
from tests.cli.running import runner
from tests.webhook.serving import pair, trusting, write
from tests.webhook.stand_ins import pod, response_in, review_of

SECRET = "hunter2"  # noqa: S105 (what a log must not have)


@dataclass
class Process:
    """A running server. ``lines`` has its log once it has ended."""

    process: asyncio.subprocess.Process
    port: int
    metrics_port: int
    session: aiohttp.ClientSession
    lines: list[dict[str, Any]]

    async def review(self, body: bytes) -> dict[str, Any]:
        async with self.session.post(f"https://localhost:{self.port}/mutate?timeout=3s", data=body) as response:
            assert response.status == 200
            return response_in(await response.read())

    async def ready(self) -> int:
        async with self.session.get(f"http://localhost:{self.metrics_port}/readyz") as response:
            return response.status

    async def ended(self) -> int:
        """The exit code."""
        async with asyncio.timeout(10):
            assert self.process.stderr is not None
            rest = await self.process.stderr.read()
            self.lines += [json.loads(line) for line in rest.splitlines()]
            return await self.process.wait()


@asynccontextmanager
async def started(folder: Path, *options: str) -> AsyncIterator[Process]:
    """Start the server on free ports, and wait until it says that it is ready."""
    made = pair()
    write(folder, made)
    arguments = ["webhook", "serve", f"--certificate-dir={folder}", "--address=127.0.0.1", "--port=0"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "multiarch.cli", *arguments, "--metrics-port=0", *options),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        lines: list[dict[str, Any]] = []
        async with asyncio.timeout(20):
            while not lines or lines[-1]["message"] != "ready":
                lines.append(json.loads(await process.stderr.readline()))
        connector = aiohttp.TCPConnector(ssl=trusting(made))
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Process(process, lines[-1]["port"], lines[-1]["metricsPort"], session, lines)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@asynccontextmanager
async def silent_registry() -> AsyncIterator[int]:
    """The port of a registry that takes connections and never answers."""
    transports: list[asyncio.BaseTransport] = []

    class Silent(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            transports.append(transport)

    server = await asyncio.get_running_loop().create_server(Silent, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        for each in transports:
            each.close()


@pytest.mark.exhaustive
def test_its_memory_is_bounded_whatever_a_pod_sends_and_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    head = b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"

    async def work() -> None:
        async with started(tmp_path, "--drain-seconds=60") as it:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            held = []

            async def send(size: int) -> None:
                with suppress(OSError, TimeoutError):
                    tls = context if size else None
                    _, writer = await asyncio.open_connection("127.0.0.1", it.port, ssl=tls)
                    held.append(writer)
                    writer.write(head + b"x" * size)
                    async with asyncio.timeout(3):
                        await writer.drain()

            for count, size in ((200, 0), (40, 2_900_000), (200, 250_000)):
                await asyncio.gather(*(send(size) for _ in range(count)))
            status = Path(f"/proc/{it.process.pid}/status").read_text(encoding="ascii")  # noqa: ASYNC240 (no disk)
            assert int(status.partition("VmHWM:")[2].split()[0]) < BASE_MIB * 1024
            assert await it.ready() == 200
            for writer in held:
                writer.transport.abort()
            it.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.1)
            it.process.send_signal(signal.SIGTERM)
            assert await it.ended() == 128 + signal.SIGTERM
            assert it.lines[-1]["message"] == "ended at once by a second signal"

    asyncio.run(work())


async def send_until_refused(it: Process, body: bytes) -> int:
    """Connect again and again, as long as one is let in: no request may be lost at the end of a drain."""
    url = f"https://localhost:{it.port}/mutate"
    for answered in count():
        try:
            async with it.session.post(url, data=body, headers={"Connection": "close"}) as response:
                assert response.status == 200
        except aiohttp.ClientConnectorError as error:
            if "Connect call failed" not in str(error):
                raise
            return answered
    raise AssertionError


def test_it_answers_reviews_drains_on_sigterm_and_finishes_what_is_under_way(tmp_path: Path) -> None:
    async def work() -> None:
        async with silent_registry() as registry:
            file = tmp_path / "webhook.yaml"
            file.write_text(
                f"deadlineSeconds: 1.0\nregistries: {{plainHttp: ['127.0.0.1:{registry}'],"
                " allowedNetworks: [127.0.0.0/8]}\nlimits: {bodyKib: 16}\n",
                encoding="utf-8",
            )
            async with started(tmp_path, f"--config={file}", "--drain-seconds=0.4") as it:
                async with it.session.post(f"https://localhost:{it.port}/mutate", data=SECRET * 4096) as too_large:
                    assert too_large.status == 413
                environment = {"env": [{"name": "PASSWORD", "value": SECRET}]}
                opted_out = pod("nginx:1")
                opted_out["metadata"]["annotations"] = {"multiarch-eks/webhook": "off", "token": SECRET}
                opted_out["spec"]["containers"][0] |= environment
                assert (await it.review(review_of(opted_out)))["auditAnnotations"]["decision"] == "skip"
                assert await it.ready() == 200
                clients = asyncio.gather(*(send_until_refused(it, review_of(opted_out)) for _ in range(4)))
                image = f"127.0.0.1:{registry}/team/app:1"
                slow = asyncio.create_task(it.review(review_of(pod(image))))
                await asyncio.sleep(0.1)
                it.process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.1)
                assert await it.ready() == 503
                response = await slow
                assert (response["allowed"], response["auditAnnotations"]["decision"]) == (True, "unknown")
                assert sum(await clients) > 4
                assert await it.ended() == 0
                messages = [line["message"] for line in it.lines]
                assert messages[-1] == "stopped"
                assert "The request has more than 16384 bytes." in messages
                assert SECRET not in json.dumps(it.lines)
                (decided,) = (line for line in it.lines if "outcome" in line)
                assert (decided["reason"], decided["images"], decided["level"]) == ("deadline", [image], "warning")

    asyncio.run(work())


@pytest.mark.parametrize(
    ("options", "content", "code", "message"),
    [
        ((), None, 2, "tls.crt can't be read: No such file or directory."),
        (("--config=webhook.yaml",), "mod: pin\n", 2, "webhook.yaml:1 mod: mod is unknown here. Did you mean mode?"),
        (("--config=missing.yaml",), None, 2, "missing.yaml: The file can't be read: No such file or directory."),
    ],
)
def test_what_is_wrong_at_the_start_is_one_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    content: str | None,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "webhook.yaml").write_text(content, encoding="utf-8")
    ran = runner(capsys)("webhook", "serve", "--certificate-dir=.", "--address=127.0.0.1", *options)
    assert ran.code == code
    assert message in ran.err


def test_its_start_loads_no_client_of_aws_or_kubernetes_and_no_pulumi() -> None:
    """Start to ready takes less than a second: these take half of it, and most webhooks need none."""
    program = (
        "import sys, multiarch.webhook.service as service;"
        "service.LookUps.from_configuration(service.WebhookConfiguration()); print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True)
    loaded = {name.partition(".")[0] for name in ran.stdout.split()}
    assert not loaded & {"boto3", "botocore", "jsonpatch", "pulumi", "rich", "typer", "urllib3", "yaml"}
    assert "multiarch.kubernetes" not in ran.stdout
