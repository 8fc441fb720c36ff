"""Ten thousand pods in a real API server, read in pages: time and memory of a process of its own, printed.

The control plane is one of its own too: what was written is thrown away with it, in place of being deleted.
"""

from __future__ import annotations

import contextlib
import http.client
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
from typing import Any

import pytest

from multiarch.kubernetes.cluster import Access, open_cluster
from multiarch.kubernetes.resources import Kind
from tests.cluster import control_plane as control_plane_module
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kube import Access as KubeAccess
from tests.cluster.kube import Kube, Object
from tests.cluster.objects import pod
from tests.cluster.programs import ROOT, Programs, wait_for
from tests.cluster.reading import namespace

PODS = 10_000
NAMESPACES = 20
MOST_CPU_SECONDS = 5.0
MOST_MEMORY_MIB = 150
READ = """
import json, resource, sys
from pathlib import Path
from multiarch.kubernetes.cluster import Access, open_cluster
from multiarch.kubernetes.resources import WORKLOADS, Kind
images, pods = set(), 0
with open_cluster(Access(Path(sys.argv[1]))) as cluster:
    for found in cluster.objects([*WORKLOADS, Kind.POD]):
        pods += found.value["kind"] == "Pod"
        images.update(each["image"] for each in found.value["spec"].get("containers", ()))
used = resource.getrusage(resource.RUSAGE_SELF)
# Not ru_maxrss, which counts the process that this one was forked from.
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
kib = int(status["VmHWM"].split()[0])
print(json.dumps({"pods": pods, "images": len(images), "cpu": used.ru_utime + used.ru_stime, "kib": kib}))
"""


@dataclass(frozen=True)
class Crowded:
    """A control plane with many pods. Nobody schedules them."""

    plane: ControlPlane
    bytes_of_a_pod: int


@pytest.fixture(scope="module")
def crowded() -> Iterator[Crowded]:
    with Programs.running() as programs:
        plane = control_plane_module.start(programs)
        kube = plane.kube
        for number in range(NAMESPACES):
            kube.apply(namespace(space(number)))
        wait_for(lambda: accounts(kube) == NAMESPACES or None, "the namespaces' service accounts", timeout=30)
        # Nobody is to look at the pods but the API server: it takes five times as long otherwise.
        for name in ("kube-scheduler", "kube-controller-manager"):
            programs.stop(programs.named(name))
        with contextlib.closing(Creator(kube.access)) as creator, ThreadPoolExecutor(8) as pool:
            sizes = list(pool.map(creator.create, range(PODS)))
        yield Crowded(plane, max(sizes))


class Creator:
    """Creates pods over one kept connection per thread, and looks at nothing but the status."""

    def __init__(self, access: KubeAccess) -> None:
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
        connection.request("POST", path, body=json.dumps(a_pod(number)), headers=self._headers)
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


def a_pod(number: int) -> Object:
    """A pod as large as those of real clusters, after the API server has added its part."""
    made = pod(f"pod-{number}", schedulerName="nobody")
    meta: dict[str, Any] = made["metadata"]
    meta["namespace"] = space(number)
    meta["annotations"] = {f"example.com/annotation-{each}": "x" * 60 for each in range(6)}
    first = made["spec"]["containers"][0]
    first["env"] = [{"name": f"VARIABLE_{each}", "value": f"value-{each}" * 4} for each in range(20)]
    first["image"] = f"registry.example.com/team/app-{number % 400}:1.{number % 7}"
    made["spec"]["containers"].append({**first, "name": "sidecar", "image": "registry.example.com/proxy:2"})
    return made


def test_ten_thousand_pods_are_read_within_seconds_and_little_memory(crowded: Crowded) -> None:
    command = [sys.executable, "-c", READ, str(crowded.plane.kubeconfig)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    mebibytes = found["kib"] / 1024
    sys.stdout.write(
        f"\n{found['pods']} pods of {crowded.bytes_of_a_pod} bytes: {found['cpu']:.2f} s of CPU, {mebibytes:.0f} MiB\n"
    )
    assert (found["pods"], found["images"]) == (PODS, 2801)
    assert found["cpu"] < MOST_CPU_SECONDS
    assert mebibytes < MOST_MEMORY_MIB


def test_a_list_survives_what_changes_while_it_is_read(crowded: Crowded) -> None:
    """Pods go and come between two pages: none comes twice, and none that was there at the start is missing."""
    kube: Kube = crowded.plane.kube
    with open_cluster(Access(crowded.plane.kubeconfig)) as cluster:
        listed = cluster.objects([Kind.POD], namespaces=[space(0)], limit=50)
        names = [next(listed).value["metadata"]["name"]]
        kube.delete({**a_pod(PODS - NAMESPACES), "apiVersion": "v1"}, grace=0)
        kube.create({**a_pod(PODS), "metadata": {"name": "late", "namespace": space(0)}})
        names += [found.value["metadata"]["name"] for found in listed]
    assert len(names) == len(set(names))
    assert {f"pod-{number}" for number in range(0, PODS, NAMESPACES)} <= set(names)
