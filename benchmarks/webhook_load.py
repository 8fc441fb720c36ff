"""Reviews per second of the webhook's server: TLS, keep-alive, 8 connections, reviews of 11 kB, images remembered.

wrk queries one worker process at 127.0.0.1. Limits: 4,600 reviews per second and core (CPU time), which is five times
what k8smultiarcher answered beside this server in one run (911), and a 99th percentile of 2 ms with two connections.
CPU time is nearly the same on a busy machine; wall time and percentiles are not. Last comes the time from the start of
``multiarch webhook serve`` until it is ready, at most 1 s.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import BIN, ROOT, show
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.certificate import Certificate
from multiarch.webhook.decision_log import DecisionLog
from multiarch.webhook.handler import Handler
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.logs import Log
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.server import Listening, Server
from multiarch.webhook.service import serve_requests as serve_until_signal
from tests.webhook import serving
from tests.webhook.memories import VERDICTS, remember
from tests.webhook.stand_ins import pod, review_of
from tools import build

SECONDS, ROUNDS, STARTS = 3, 5, 5
CONNECTIONS, MODERATE_CONNECTIONS = 8, 2
PODS = 64
"""Different pods, each with three images of its own; a real cluster's are as often those of a Deployment's replicas."""
REVIEW_BYTES = 11_000
REVIEW_LIMIT_US = 1e6 / 4600
P99_LIMIT_MS = 2.0
START_LIMIT_S = 1.0
_LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local bodies, last = {}, 0
for line in io.lines(os.getenv("REVIEWS")) do table.insert(bodies, line) end
function request()
  last = last % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[last])
end
function done(summary, latency, requests)
  local e = summary.errors
  print(string.format('RESULT {"requests": %d, "seconds": %f, "p99": %f, "errors": %d}', summary.requests,
    summary.duration / 1e6, latency:percentile(99) / 1e3, e.connect + e.read + e.write + e.status + e.timeout))
end
"""


@dataclass(frozen=True, slots=True)
class Load:
    """One round of wrk; ``cpu`` is the server's, in seconds."""

    requests: int
    seconds: float
    cpu: float
    p99: float

    @property
    def cpu_us(self) -> float:
        """CPU time of one review in microseconds."""
        return self.cpu / self.requests * 1e6


def _review(number: int) -> bytes:
    """Return a review of a pod of a Deployment; managed fields fill it up to the size that the API server sends."""
    whole = pod(*(_image(number, index) for index in range(3)))
    whole["metadata"]["namespace"] = f"team-{number}"
    for container in whole["spec"]["containers"]:
        container["env"] = [{"name": f"SETTING_{each}", "value": "v" * 40} for each in range(20)]
    fields: dict[str, object] = {}
    whole["metadata"]["managedFields"] = [{"manager": "kube-controller-manager", "fieldsV1": fields}]
    missing = REVIEW_BYTES - len(review_of(whole))
    while len(json.dumps(fields, separators=(",", ":"))) < missing:
        fields[f"f:key-{len(fields)}"] = {"f:x": {}}
    return review_of(whole)


def _image(number: int, index: int) -> str:
    return f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/team-{number}/app-{index}:1.{index}"


def serve(folder: Path) -> None:
    """Serve in this process: what ``multiarch webhook serve`` does with all images remembered."""

    async def work() -> None:
        metrics, log, configuration = Metrics(), Log(), WebhookConfiguration()
        look_ups = LookUps.from_configuration(configuration, metrics)
        for number in range(PODS):
            for index in range(3):
                remember(look_ups, _image(number, index), number * 3 + index, VERDICTS[0])
        handler = Handler(configuration, look_ups, metrics, DecisionLog(log))
        server = Server(Listening("127.0.0.1", 0, 0), handler.review, metrics, str, metrics.failed)
        async with look_ups:
            await serve_until_signal(server, Certificate(folder, metrics, log), log, drain_seconds=0.0)

    uvloop.run(work())


@dataclass(frozen=True, slots=True)
class Running:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    def load(self, folder: Path, seconds: float, connections: int = CONNECTIONS) -> Load:
        """Put load on it. Exits the benchmark if a request was not answered with 200."""
        wrk = build.ensure("wrk")
        before = _cpu(self.process.pid)
        done = subprocess.run(
            [
                *(str(wrk), "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(folder / "load.lua")),
                f"https://127.0.0.1:{self.port}/mutate?timeout=3s",
            ],
            env={**os.environ, "LD_LIBRARY_PATH": str(wrk.parent), "REVIEWS": str(folder / "reviews")},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        cpu = _cpu(self.process.pid) - before
        found = json.loads(done.stdout.partition("RESULT ")[2])
        if found["errors"] or not found["requests"]:
            sys.exit(f"requests failed:\n{done.stdout}")
        return Load(found["requests"], found["seconds"], cpu, found["p99"])


def _cpu(pid: int) -> float:
    """Return the CPU time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(command: list[str]) -> Iterator[Running]:
    """Start a server, and give it when it is ready."""
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        if process.stderr is None:
            raise RuntimeError("stderr is a pipe")
        try:
            for line in process.stderr:
                entry = json.loads(line)
                if entry["message"] == "ready":
                    yield Running(process, entry["port"])
                    break
            else:
                sys.exit(f"{' '.join(command)} did not start")
        finally:
            process.send_signal(signal.SIGINT)
            process.stderr.read()


def _check(webhook: Running, review: bytes) -> None:
    """Exit unless the server answers a review with a patch."""
    context = ssl._create_unverified_context()  # noqa: S323, SLF001
    request = urllib.request.Request(f"https://127.0.0.1:{webhook.port}/mutate", review)
    with urllib.request.urlopen(request, context=context) as response:  # noqa: S310 (its own server)
        patch = base64.b64decode(json.load(response)["response"].get("patch", ""))
    if b'"arm64"' not in patch:
        sys.exit(f"the webhook did not answer with a toleration: {patch!r}")


def _median(loads: list[Load], name: str) -> float:
    return float(statistics.median(getattr(each, name) for each in loads))


def serve_command(folder: Path) -> list[str]:
    """Return the command that serves with the certificate in ``folder``."""
    command = [str(BIN / "multiarch"), "webhook", "serve", f"--certificate-dir={folder}", "--address=127.0.0.1"]
    return [*command, "--port=0", "--metrics-port=0"]


def main() -> None:
    """Print the figures with their limits."""
    with tempfile.TemporaryDirectory(prefix="multiarch-") as name:
        folder = Path(name)
        serving.write(folder, serving.pair())
        (folder / "load.lua").write_text(_LUA, encoding="utf-8")
        reviews = [_review(number) for number in range(PODS)]
        (folder / "reviews").write_bytes(b"\n".join(reviews) + b"\n")
        with running([sys.executable, str(Path(__file__)), "serve", name]) as webhook:
            _check(webhook, reviews[0])
            webhook.load(folder, 1)
            loads = [webhook.load(folder, SECONDS) for _ in range(ROUNDS)]
            moderate = [webhook.load(folder, SECONDS, MODERATE_CONNECTIONS) for _ in range(ROUNDS)]
        starts = []
        for _ in range(STARTS):
            began = time.perf_counter()
            with running(serve_command(folder)):
                starts.append(time.perf_counter() - began)
    cpu = _median(loads, "cpu_us")
    rate = statistics.median(each.requests / each.seconds for each in loads)
    print(
        f"reviews of {statistics.mean(map(len, reviews)):.0f} bytes, {CONNECTIONS} connections, one worker process: "
        f"{rate:.0f} reviews/s, {1e6 / cpu:.0f} reviews/s per core (CPU time), p99 {_median(loads, 'p99'):.2f} ms"
    )
    show("CPU time of a review", cpu, REVIEW_LIMIT_US, "µs")
    show(f"99th percentile with {MODERATE_CONNECTIONS} connections", _median(moderate, "p99"), P99_LIMIT_MS, "ms")
    show("start until ready", statistics.median(starts), START_LIMIT_S, "s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(Path(sys.argv[2]))
    else:
        main()
