"""The real server under load, with registries that misbehave and a certificate that changes: what came of it.

Time runs twenty times as fast as in a cluster: 30 seconds hold the faults of 10 minutes, each for a second or so
instead of twenty, tags are checked after 2 s, and failures are remembered for 1 s. The deadline is not shortened.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import ssl
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import yaml

from tests.webhook.faulty_registry import Fault, FaultyRegistry
from tests.webhook.issuing import Pair
from tests.webhook.serving import pair, trusting, write
from tests.webhook.stand_ins import pod, review_of

DEADLINE = 1.5
GRACE = 0.1
_CONNECTIONS = 8
_PODS = 150
"""Different pods. What their decisions take in memory is not what this run is about."""
_PAUSE = 0.01
"""Seconds between two reviews of a connection: other programs need the processor too."""


@dataclass(slots=True)
class Figures:
    """What came of a run. Seconds, bytes.

    ``late`` are reviews over the deadline and its grace, without the time in which this machine ran other programs.
    """

    reviews: int = 0
    refused: int = 0
    """Bodies that are not reviews, answered with 400."""
    unanswered: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Answers that are for another review, or let a pod onto nodes that its images don't support."""
    late: list[float] = field(default_factory=list)
    longest: float = 0.0
    """The longest review, without that time."""
    took: list[float] = field(default_factory=list)
    patched: int = 0
    duplicates: list[str] = field(default_factory=list)
    registry_requests: int = 0
    struck: Counter[str] = field(default_factory=Counter)
    rotations: int = 0
    resident: list[tuple[float, int]] = field(default_factory=list)
    files: tuple[int, int] = (0, 0)
    """Open files before the load, and some seconds after it."""
    under_way: tuple[float, float] = (-1.0, -1.0)
    """Requests and look-ups under way, some seconds after the load."""

    def percentile(self, share: float) -> float:
        """The time that so many reviews took at most."""
        ordered = sorted(self.took)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def growth(self) -> float:
        """Bytes per second by which the memory grew in the second half, by least squares."""
        half = self.resident[len(self.resident) // 2 :]
        middle = sum(at for at, _ in half) / len(half)
        mean = sum(size for _, size in half) / len(half)
        spread = sum((at - middle) ** 2 for at, _ in half)
        return sum((at - middle) * (size - mean) for at, size in half) / spread if spread else 0.0

    def lines(self) -> Iterator[str]:
        """The figures as text."""
        yield f"{self.reviews} reviews, {self.patched} of them patched; {self.refused} bodies refused"
        half, most, longest = self.percentile(0.5), self.percentile(0.99), self.percentile(1.0)
        yield f"time: median {half * 1000:.1f} ms, p99 {most * 1000:.0f} ms, longest {longest * 1000:.0f} ms"
        yield f"unanswered {len(self.unanswered)}, wrong {len(self.wrong)}, over the deadline {len(self.late)}"
        yield f"{self.registry_requests} requests to registries, {len(self.duplicates)} of them duplicates"
        yield "answers of registries: " + ", ".join(f"{name} {count}" for name, count in self.struck.most_common())
        first, last = self.resident[0][1], self.resident[-1][1]
        growth = f"{self.growth / 1000:+.0f} kB/s in the second half"
        yield f"memory: {first / 1e6:.1f} MB, then {last / 1e6:.1f} MB ({growth})"
        yield f"open files: {self.files[0]}, then {self.files[1]}; under way at the end: {self.under_way}"
        yield f"certificate changed {self.rotations} times"


@dataclass(slots=True)
class _Image:
    name: str
    amd64_only: bool = False


class _Machine:
    """How long this machine kept the server and this process waiting for a processor."""

    def __init__(self, process: int) -> None:
        self._file = Path(f"/proc/{process}/schedstat")
        self._lag = 0.0

    async def watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            self._lag += max(0.0, time.perf_counter() - began - 0.006)

    @property
    def waited(self) -> float:
        return self._lag + int(self._file.read_text().split()[1]) / 1e9


async def fault_run(folder: Path, seconds: float, seed: int) -> Figures:
    """Run for so many seconds, and a few more to see what is left over."""
    chance, figures = random.Random(seed), Figures()  # noqa: S311 (no secret)
    async with AsyncExitStack() as stack:
        trusted, strange = pair(), pair()
        registries = [
            await stack.enter_async_context(FaultyRegistry(random.Random(seed + number)).running(tls))  # noqa: S311
            for number, tls in enumerate(
                (None, None, _server_context(folder, trusted), _server_context(folder, strange))
            )
        ]
        images = _push(registries)
        pods = [chance.sample(images, chance.randint(1, 6)) for _ in range(_PODS)]
        served = pair()
        certificates = folder / "certificates"
        certificates.mkdir()
        write(certificates, served)
        options = _configured(folder, registries, trusted)
        process, port, metrics_port = await stack.enter_async_context(started(folder, certificates, options))
        pairs, machine = [served], _Machine(process.pid)
        before = _open_files(process.pid)
        load = [
            asyncio.create_task(_load(figures, machine, pairs, port, pods, random.Random(f"{seed} {number}")))  # noqa: S311
            for number in range(_CONNECTIONS)
        ]
        others = [
            asyncio.create_task(machine.watch()),
            asyncio.create_task(_misbehave(registries, chance)),
            asyncio.create_task(_sample(figures, process.pid)),
            asyncio.create_task(_rotate(figures, certificates, pairs, seconds / 3)),
        ]
        await asyncio.sleep(seconds)
        for task in (*load, *others):
            task.cancel()
        ended = await asyncio.gather(*load, *others, return_exceptions=True)
        figures.unanswered += [
            repr(each) for each in ended if not isinstance(each, asyncio.CancelledError | type(None))
        ]
        for registry in registries:
            registry.fault = Fault.NONE
        figures.under_way = await _settled(metrics_port)
        figures.files = before, _open_files(process.pid)
        assert process.returncode is None, "the server ended"
        for registry in registries:
            figures.duplicates += registry.duplicates
            figures.registry_requests += registry.asked.total()
            figures.struck += registry.struck
    return figures


def _server_context(folder: Path, made: Pair) -> ssl.SSLContext:
    written = folder / f"registry-{os.urandom(4).hex()}.pem"
    written.write_bytes(made.certificate + made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(written)
    return context


def _push(registries: list[FaultyRegistry]) -> list[_Image]:
    images = [_Image("127.0.0.1:1/team/closed:1"), _Image("10.0.0.1/team/private:1"), _Image("UPPER/not valid")]
    for registry in registries:
        for number in range(12):
            both, old, one = f"team/both{number}", f"team/old{number}", f"team/one{number}"
            digest = registry.index(both, "1", "amd64", "arm64")
            registry.index(old, "1", "amd64")
            registry.single(one, "1", "amd64")
            images += [
                _Image(f"{registry.host}/{both}:1"),
                _Image(f"{registry.host}/{both}@{digest}"),
                _Image(f"{registry.host}/{old}:1", amd64_only=True),
                _Image(f"{registry.host}/{one}:1", amd64_only=True),
            ]
    return images


def _configured(folder: Path, registries: list[FaultyRegistry], trusted: Pair) -> Path:
    (folder / "ca.pem").write_bytes(trusted.authority)
    hosts = [registry.host for registry in registries]
    configuration = {
        "deadlineSeconds": DEADLINE,
        "cache": {"freshSeconds": 2, "staleSeconds": 4, "failureSeconds": 1},
        "registries": {
            "allowed": ["*", *hosts],
            "allowedNetworks": ["127.0.0.0/8", "::1/128"],
            "plainHttp": [host for host in (*hosts, "127.0.0.1:1") if host.startswith("127.")],
            "caFiles": [str(folder / "ca.pem")],
            "ecr": False,
        },
    }
    file = folder / "webhook.yaml"
    file.write_text(yaml.safe_dump(configuration))
    return file


@asynccontextmanager
async def started(
    folder: Path, certificates: Path, configuration: Path
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int, int]]:
    """The server, and its ports."""
    arguments = ["webhook", "serve", f"--certificate-dir={certificates}", f"--config={configuration}"]
    log = folder / "log"
    with log.open("wb") as stream:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "multiarch.cli", *arguments, "--address=127.0.0.1", "--port=0", "--metrics-port=0"),
            stderr=stream,
        )
    try:
        async with asyncio.timeout(20):
            row = await _ready(log)
        yield process, row["port"], row["metricsPort"]
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _ready(log: Path) -> dict[str, int]:
    """The line of the log that says so."""
    while True:
        row = _said_ready(log)
        if row is not None:
            return row
        await asyncio.sleep(0.05)


def _said_ready(log: Path) -> dict[str, int] | None:
    found = re.search(r'\{[^\n]*"message":"ready"[^\n]*\}', log.read_text())
    return None if found is None else json.loads(found[0])


async def _load(
    figures: Figures, machine: _Machine, pairs: list[Pair], port: int, pods: list[list[_Image]], chance: random.Random
) -> None:
    """One connection after the other, each kept for some seconds: reviews of pods with up to six images."""
    while True:
        connector = aiohttp.TCPConnector(ssl=trusting(*pairs), limit=1)
        async with aiohttp.ClientSession(connector=connector) as session:
            ends = time.monotonic() + chance.uniform(1.0, 5.0)
            while time.monotonic() < ends:
                await _review(figures, machine, session, port, chance.choice(pods), chance)
                await asyncio.sleep(_PAUSE)


async def _review(
    figures: Figures,
    machine: _Machine,
    session: aiohttp.ClientSession,
    port: int,
    images: list[_Image],
    chance: random.Random,
) -> None:
    uid = os.urandom(8).hex()
    body = review_of(pod(*(each.name for each in images)), uid=uid)
    spoiled = chance.random() < 0.02
    began, waited = time.perf_counter(), machine.waited
    try:
        async with asyncio.timeout(10):
            data = body[: len(body) // 2] if spoiled else body
            async with session.post(f"https://localhost:{port}/mutate?timeout=3s", data=data) as response:
                status, answer = response.status, await response.json()
    except (OSError, aiohttp.ClientError) as error:
        figures.unanswered.append(repr(error))
        return
    took = time.perf_counter() - began
    if spoiled:
        figures.refused += status == 400
        return
    figures.reviews += 1
    figures.took.append(took)
    own = took - (machine.waited - waited)
    figures.longest = max(figures.longest, own)
    if own > DEADLINE + GRACE:
        figures.late.append(own)
    found = answer.get("response", {})
    if found.get("uid") != uid or found.get("allowed") is not True:
        figures.wrong.append(str(answer))
    if "patch" in found:
        figures.patched += 1
        if any(each.amd64_only for each in images):
            figures.wrong.append(f"patched: {[each.name for each in images]}")


async def _misbehave(registries: list[FaultyRegistry], chance: random.Random) -> None:
    """Change what goes wrong, each second or so; move tags, and delete some for a time."""
    faults = list(Fault)
    while True:
        for registry in registries:
            registry.fault = chance.choice([Fault.NONE, *faults])
            number = chance.randrange(12)
            name = f"team/both{number}:1"
            if chance.random() < 0.3:
                registry.tags.pop(name, None)
            else:
                registry.index(f"team/both{number}", "1", "amd64", "arm64", note=str(chance.random()))
        await asyncio.sleep(chance.uniform(0.3, 1.5))


async def _sample(figures: Figures, process: int) -> None:
    while True:
        figures.resident.append((time.monotonic(), _resident(process)))
        await asyncio.sleep(0.25)


async def _rotate(figures: Figures, folder: Path, pairs: list[Pair], seconds: float) -> None:
    """Change the certificate now and then, as a new authority's, which clients trust before."""
    while True:
        await asyncio.sleep(seconds)
        made = pair()
        pairs.append(made)
        # Connections that are open do not know the new authority yet: the API server gets it first, too.
        await asyncio.sleep(5.0)
        write(folder, made)
        figures.rotations += 1


def _resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _open_files(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


async def _settled(metrics_port: int) -> tuple[float, float]:
    """Requests and look-ups under way, once there are none, or after 25 s: a look-up takes 20 s at most."""
    ends = time.monotonic() + 25.0
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"http://127.0.0.1:{metrics_port}/metrics") as response:
                text = await response.text()
            rows = {name: float(value) for name, value in re.findall(r"^(\w+) ([0-9.e+]+)$", text, re.MULTILINE)}
            found = rows["multiarch_webhook_http_requests_in_progress"], rows["multiarch_webhook_lookups_in_progress"]
            if not any(found) or time.monotonic() > ends:
                await asyncio.sleep(1.0)
                return found
            await asyncio.sleep(0.2)
