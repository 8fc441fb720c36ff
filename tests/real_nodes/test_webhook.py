"""The webhook as pods of its own image on both real nodes, called by the API server through its Service.

Its objects and its certificate are those of the chart.
"""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from multiarch.facts.architectures import Architecture
from sandbox.cluster import images
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube, Object, condition
from sandbox.webhook_demo import demo
from sandbox.webhook_demo.installed import Installed, installed
from sandbox.webhook_image import image
from tests.quotations import ROOT, blocks, matches
from tests.real_nodes.pods import SPACE, TOLERATES, namespace, template

AMD64, ARM64 = Architecture
PAGE: Final = ROOT / "docs" / "webhook.md"
START_SECONDS: Final = {AMD64: 30, ARM64: 120}
"""From the container's start to ready; under the emulator everything takes twenty times as long."""
MEMORY_MIB: Final = {AMD64: 160, ARM64: 400}
ADMITTED_WITHIN: Final = 5.0
"""A call takes 3 s at most; then the API server admits the pod without the webhook."""


@pytest.fixture(scope="module")
def nodes(real_nodes: Nodes) -> Iterator[Nodes]:
    for node in real_nodes.by_architecture.values():
        node.stop_kubelet()
    demo.start_nodes(real_nodes)
    yield real_nodes
    for node in real_nodes.by_architecture.values():
        node.stop_kubelet()


@pytest.fixture(scope="module")
def webhook(nodes: Nodes) -> Iterator[Installed]:
    """Two replicas that are ready, and a namespace."""
    layout = image.ensure(print)
    with installed(nodes, layout) as running:
        running.wait()
        with namespace(running.kube):
            yield running


def admitted(kube: Kube, reference: str) -> Object:
    """A pod as the API server would create it; nothing is created."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "try-"}, "spec": template(reference)}
    return kube.request("POST", kube.path("v1", "Pod", SPACE), body=pod, query={"dryRun": "All"})


def tolerations(pod: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """Without those of the API server's own defaults."""
    return [each for each in pod["spec"].get("tolerations", []) if each.get("key") == "arch"]


def by_architecture(webhook: Installed) -> Mapping[Architecture, Object]:
    found = {each.name: architecture for architecture, each in webhook.nodes.by_architecture.items()}
    return {found[pod["spec"]["nodeName"]]: pod for pod in webhook.pods()}


def process(webhook: Installed, architecture: Architecture) -> Path:
    """The folder of the server's process below ``/proc``."""
    status = by_architecture(webhook)[architecture]["status"]["containerStatuses"][0]
    container = status["containerID"].partition("://")[2]
    rows = [line.split() for line in webhook.nodes.by_architecture[architecture].ctr("tasks", "ls").splitlines()]
    return Path("/proc") / next(row[1] for row in rows if row[0] == container)


def test_a_replica_runs_on_each_node(webhook: Installed) -> None:
    assert set(by_architecture(webhook)) == {AMD64, ARM64}


@pytest.mark.parametrize("architecture", Architecture)
def test_its_process_has_no_rights_and_can_write_nothing(webhook: Installed, architecture: Architecture) -> None:
    folder = process(webhook, architecture)
    status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["65532"] * 4
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    # The emulator can't run under the profile, see sandbox.cluster.without_seccomp.
    assert status["Seccomp"] == ("2" if architecture is AMD64 else "0")
    mounts = {line.split()[4]: line.split()[5].split(",") for line in (folder / "mountinfo").read_text().splitlines()}
    assert "ro" in mounts["/"]
    assert all("ro" in options for place, options in mounts.items() if place.startswith("/etc/multiarch/"))


@pytest.mark.parametrize("architecture", Architecture)
def test_it_is_ready_soon_and_takes_little_memory(webhook: Installed, architecture: Architecture) -> None:
    pod = by_architecture(webhook)[architecture]
    started = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    ready = condition(pod, "Ready")["lastTransitionTime"]
    seconds = (datetime.fromisoformat(ready) - datetime.fromisoformat(started)).total_seconds()
    found = re.search(r"VmRSS:\s+(\d+) kB", (process(webhook, architecture) / "status").read_text())
    assert found
    memory = int(found[1]) / 1024
    sys.stdout.write(f"{architecture}: ready after {seconds:.0f} s, {memory:.0f} MiB\n")
    assert seconds <= START_SECONDS[architecture]
    assert memory <= MEMORY_MIB[architecture]


def test_the_demo_shows_where_each_pod_runs_and_why(webhook: Installed) -> None:
    rows = {row.pod: row for row in demo.run(webhook)}
    assert [(row.node, row.decision) for row in rows.values()] == [
        ("node-arm64", "tolerate"),
        ("node-amd64", "leave"),
        ("node-amd64", "unknown"),
    ]
    assert rows["api"].state == "running: program arm64, machine aarch64"
    assert rows["ledger"].state == "running: program amd64, machine x86_64"
    assert "does not support arm64" in rows["ledger"].why
    assert rows["reports"].state.startswith(("ErrImagePull", "ImagePullBackOff"))
    assert "rejected the connection" in rows["reports"].why
    written = io.StringIO()
    demo.print_rows(list(rows.values()), Console(file=written, width=200))
    lines = written.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line[:1].strip()] == ["POD", "api", "ledger", "reports"]
    (quoted,) = [block for block in blocks(PAGE) if block.marked("demo") == ["webhook"]]
    missing = [line for line in quoted.text.splitlines() if not any(matches(line, each.rstrip()) for each in lines)]
    assert missing == [], lines


def test_every_pod_is_admitted_while_the_webhook_is_killed_and_starts_again(webhook: Installed) -> None:
    kube = webhook.kube
    assert tolerations(admitted(kube, images.BOTH)) == TOLERATES
    containers = {
        architecture: pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2]
        for architecture, pod in by_architecture(webhook).items()
    }
    slowest, decided, number = 0.0, [], 0
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if number == 5:
            for architecture, container in containers.items():
                webhook.nodes.by_architecture[architecture].ctr("tasks", "kill", "--signal", "SIGKILL", container)
        began = time.monotonic()
        decided.append(bool(tolerations(admitted(kube, images.BOTH))))
        slowest = max(slowest, time.monotonic() - began)
        number += 1
        if not all(decided) and all(decided[-5:]):
            break
        time.sleep(0.05)
    sys.stdout.write(f"{number} pods, {decided.count(False)} without a decision, the slowest {slowest:.2f} s\n")
    assert all(decided[:5])
    assert not all(decided), "the kill was not noticed"
    assert all(decided[-5:]), "it did not come back"
    assert slowest < ADMITTED_WITHIN
