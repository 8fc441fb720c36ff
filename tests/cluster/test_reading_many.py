"""Ten thousand pods in a real API server, read in pages: time and memory of a process of its own, printed.

The control plane is one of its own too: what was written is thrown away with it, in place of being deleted. The pods'
thousand images are in a real registry.
"""

from __future__ import annotations

import contextlib
import csv
import http.client
import io
import json
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from multiarch.kubernetes.cluster import open_cluster
from multiarch.kubernetes.resources import Kind
from multiarch.kubernetes.source import ClusterAccess
from sandbox.cluster import control_plane as control_plane_module
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Access as KubeAccess
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import Programs, wait_for
from sandbox.layout import CLONE
from tests.cluster.objects import pod
from tests.cluster.reading import namespace
from tests.registry import images, server
from tests.registry.server import Server

PODS = 10_000
NAMESPACES = 20
REPOSITORIES = 10
TAGS = 100
AUDITS = 6
MOST_CPU_SECONDS = 5.0  # of the best run: other tests share the caches of two cores
MOST_AUDIT_MEMORY_MIB = 300
AUDIT = """
import json, resource, sys
from pathlib import Path
from multiarch.cli import main
code = main(["audit", *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_SELF)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
cost = {"code": code, "cpu": used.ru_utime + used.ru_stime, "kib": int(status["VmHWM"].split()[0])}
print(json.dumps(cost), file=sys.stderr)
"""


@dataclass(frozen=True)
class Crowded:
    """A control plane with many pods, and the registry that their images are in. Nobody schedules them."""

    plane: ControlPlane
    registry: Server
    bytes_of_a_pod: int


@pytest.fixture(scope="module")
def crowded() -> Iterator[Crowded]:
    with Programs.running() as programs, server.running(programs=programs) as registry:
        plane = control_plane_module.start(programs)
        kube = plane.kube
        for number in range(NAMESPACES):
            kube.apply(namespace(space(number)))
        wait_for(lambda: accounts(kube) == NAMESPACES, "the namespaces' service accounts", timeout=30)
        # Nobody is to look at the pods but the API server: it takes five times as long otherwise.
        for name in ("kube-scheduler", "kube-controller-manager"):
            programs.stop(programs.named(name))
        with contextlib.closing(Creator(kube.access, registry.host)) as creator, ThreadPoolExecutor(8) as pool:
            sizes = list(pool.map(creator.create, range(PODS)))
            pushed = [pool.submit(push, registry, number) for number in range(REPOSITORIES)]
            assert sum(each.result() for each in pushed) == REPOSITORIES * TAGS
        yield Crowded(plane, registry, max(sizes))


def push(registry: Server, number: int) -> int:
    """Push a repository's images, and return how many they are."""
    return len(images.push_all(registry, f"team/app-{number}", {f"1.{tag}": f"{number} {tag}" for tag in range(TAGS)}))


class Creator:
    """Creates pods over one kept connection per thread, and looks at nothing but the status."""

    def __init__(self, access: KubeAccess, registry: str) -> None:
        self._registry = registry
        self._host = access.url.removeprefix("https://")
        self._trust = ssl.create_default_context(cafile=str(access.certificate))
        self._headers = {"Authorization": f"Bearer {access.token}", "Content-Type": "application/json"}
        self._local = threading.local()
        self._open: list[http.client.HTTPSConnection] = []

    def create(self, number: int) -> int:
        """Create one pod, and return its size in JSON."""
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPSConnection(self._host, context=self._trust, timeout=60)
            self._open.append(self._local.connection)
        connection: http.client.HTTPSConnection = self._local.connection
        path = f"/api/v1/namespaces/{space(number)}/pods"
        connection.request("POST", path, body=json.dumps(a_pod(number, self._registry)), headers=self._headers)
        answer = connection.getresponse()
        made = answer.read()
        assert answer.status == HTTPStatus.CREATED, made[:300]
        return len(made)

    def close(self) -> None:
        """Close the connections."""
        for connection in self._open:
            connection.close()


def accounts(kube: Kube) -> int:
    """How many of the namespaces can hold pods."""
    found = kube.list("v1", "ServiceAccount")
    return sum(item["metadata"]["namespace"].startswith("team-") for item in found)


def space(number: int) -> str:
    return f"team-{number % NAMESPACES}"


def a_pod(number: int, registry: str) -> Object:
    """A pod as large as those of real clusters, after the API server has added its part."""
    made = pod(f"pod-{number}", schedulerName="nobody")
    meta: dict[str, Any] = made["metadata"]
    meta["namespace"] = space(number)
    meta["annotations"] = {f"example.com/annotation-{each}": "x" * 60 for each in range(6)}
    first = made["spec"]["containers"][0]
    first["env"] = [{"name": f"VARIABLE_{each}", "value": f"value-{each}" * 4} for each in range(20)]
    first["image"] = f"{registry}/team/app-{number % REPOSITORIES}:1.{number // REPOSITORIES % TAGS}"
    made["spec"]["containers"].append({**first, "name": "sidecar", "image": f"{registry}/team/app-0:1.0"})
    return made


def test_ten_thousand_pods_are_audited_within_seconds_and_little_memory(crowded: Crowded, tmp_path: Path) -> None:
    """A thousand images, each required of the registry.

    Neighbours on the machine make the same work cost more, never less: the best of three runs counts.
    """
    command = [sys.executable, "-c", AUDIT, "images", "--kubeconfig", str(crowded.plane.kubeconfig), "--output", "csv"]
    costs = []
    for _ in range(AUDITS):
        mine = {"PYTHONPATH": str(CLONE), "DOCKER_CONFIG": str(tmp_path)}
        environ = {**os.environ, **mine}
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=120)
        assert ran.returncode == 0, ran.stderr
        *_, said, last = ran.stderr.splitlines()
        cost = json.loads(last)
        mebibytes = cost["kib"] / 1024
        sys.stdout.write(f"\n{said} {cost['cpu']:.2f} s of CPU, {mebibytes:.0f} MiB\n")
        rows = list(csv.DictReader(io.StringIO(ran.stdout, newline="")))
        assert [row["arm64"] for row in rows] == ["supported"] * REPOSITORIES * TAGS
        assert len({user for row in rows for user in row["workloads"].split()}) == PODS
        assert cost["code"] == 0
        assert mebibytes < MOST_AUDIT_MEMORY_MIB
        costs.append(cost["cpu"])
        if cost["cpu"] < MOST_CPU_SECONDS:
            break
    assert min(costs) < MOST_CPU_SECONDS


def test_a_list_survives_what_changes_while_it_is_read(crowded: Crowded) -> None:
    """Pods go and come between two pages: none comes twice, and none that was there at the start is missing."""
    kube: Kube = crowded.plane.kube
    with open_cluster(ClusterAccess(crowded.plane.kubeconfig)) as cluster:
        listed = cluster.objects([Kind.POD], namespaces=[space(0)], limit=50)
        names = [next(listed).value["metadata"]["name"]]
        kube.delete({**a_pod(PODS - NAMESPACES, crowded.registry.host), "apiVersion": "v1"}, grace=0)
        kube.create({**a_pod(PODS, crowded.registry.host), "metadata": {"name": "late", "namespace": space(0)}})
        names += [found.value["metadata"]["name"] for found in listed]
    assert len(names) == len(set(names))
    assert {f"pod-{number}" for number in range(0, PODS, NAMESPACES)} <= set(names)
