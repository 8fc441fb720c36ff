"""``multiarch webhook serve`` behind its Service, with a real API server and a real registry."""

from __future__ import annotations

import contextlib
import functools
import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from multiarch.facts.admission import INSTALLATION_NAME as NAME
from sandbox import certificates
from sandbox.certificates import Pair
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import ClusterError, Program, Programs, free_ports, wait_for
from sandbox.layout import CLONE
from tests.cluster.objects import ARM64_TOLERATION
from tests.cluster.temporary import applied
from tests.cluster.webhook_endpoint import chart_objects, host_address, lead_to, with_authority
from tests.images.shapes import Repository
from tests.registry import server

SPACE = "webhook-serve"
ENTRY = "default.webhook.multiarch-eks"


@dataclass
class Serving:
    """The webhook's process, and what it was started with."""

    kube: Kube
    programs: Programs
    folder: Path
    authority: Pair
    ports: tuple[int, int]
    root: str
    program: Program | None = None

    def issue(self) -> None:
        """Write a new certificate; the process takes it without a restart."""
        pair = certificates.issue(self.authority, [f"{NAME}.{NAME}.svc"])
        certificate, key = pair.write(self.folder, "new")
        key.replace(self.folder / "certificate" / "tls.key")
        certificate.replace(self.folder / "certificate" / "tls.crt")

    def start(self) -> None:
        """Start the process, as the Deployment's pods do."""
        port, metrics_port = self.ports
        command = [
            *(sys.executable, "-m", "multiarch.cli", "webhook", "serve", f"--config={self.folder / 'config.yaml'}"),
            *(f"--certificate-dir={self.folder / 'certificate'}", f"--port={port}", f"--metrics-port={metrics_port}"),
            f"--address={host_address()}",
        ]
        program = self.program = self.programs.start("webhook", command, {"PYTHONPATH": str(CLONE)})

        def called() -> bool:
            program.still_running()
            return tolerates(self.create("both"))

        try:
            wait_for(called, "the API server to call the webhook", timeout=30)
        except ClusterError as error:
            raise ClusterError(f"{error}\n{program.tail()}") from error

    def create(self, *tags: str) -> Object:
        """Create a pod on trial, with a container for each tag, and return what the API server made of it."""
        containers = [{"name": f"c{number}", "image": f"{self.root}:{tag}"} for number, tag in enumerate(tags)]
        item = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"generateName": "pod-", "namespace": SPACE},
            "spec": {"containers": containers},
        }
        return self.kube.request("POST", self.kube.path("v1", "Pod", SPACE), body=item, query={"dryRun": "All"})

    def failed_open(self) -> float:
        """How often the API server admitted a pod because the webhook failed."""
        text = self.kube.request("GET", "/metrics")["text"]
        rows = (line for line in text.splitlines() if line.startswith("apiserver_admission_webhook_fail_open_count{"))
        return sum(float(line.rpartition(" ")[2]) for line in rows if f'"{ENTRY}"' in line)


def tolerates(pod: Object) -> bool:
    return ARM64_TOLERATION in pod["spec"]["tolerations"]


@pytest.fixture(scope="module")
def repository(cluster_programs: Programs) -> Iterator[Repository]:
    """A repository with images, by tag; what the webhook makes of other shapes is in tests/images."""
    with server.running(programs=cluster_programs, lenient=True) as running:
        made = Repository(running, "team/app")
        amd64, arm64 = made.entry("linux/amd64"), made.entry("linux/arm64")
        made.index([amd64, arm64], tag="both")
        made.index([amd64], tag="index-of-amd64")
        made.image("linux/amd64", tag="single-amd64")
        yield made


@pytest.fixture(scope="module")
def serving(
    control_plane: ControlPlane, cluster_programs: Programs, repository: Repository,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Serving]:  # fmt: skip
    kube, folder = control_plane.kube, tmp_path_factory.mktemp("webhook")
    host = repository.server.host
    settings = {
        "annotate": True,
        "registries": {"allowed": [host], "allowedNetworks": ["127.0.0.1/32"], "plainHttp": [host], "ecr": False},
        "cache": {"failureSeconds": 1},
    }
    (folder / "config.yaml").write_text(json.dumps(settings))
    (folder / "certificate").mkdir()
    authority = certificates.authority()
    bundle = authority.write(folder, "authority")[0].read_bytes()
    port, metrics_port = free_ports(2)
    root = f"{host}/{repository.name}"
    made = Serving(kube, cluster_programs, folder, authority, (port, metrics_port), root)
    made.issue()
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    with applied(kube, [*with_authority(chart_objects(settings), bundle), space]):
        lead_to(kube, NAME, NAME, port)
        wait_for(functools.partial(kube.get, "v1", "ServiceAccount", "default", SPACE), "its account", timeout=30)
        made.start()
        try:
            yield made
        finally:
            if made.program is not None:
                cluster_programs.stop(made.program)


@pytest.mark.parametrize("tag", ["index-of-amd64", "single-amd64", "not-there"])
def test_an_image_without_arm64_keeps_the_pod_as_it_is(serving: Serving, tag: str) -> None:
    assert tolerates(serving.create("both"))
    assert not tolerates(serving.create(tag))
    assert not tolerates(serving.create("both", tag))


@contextlib.contextmanager
def load(serving: Serving) -> Iterator[list[bool]]:
    """Let four threads create pods, and note whether each tolerates arm64."""
    made: list[bool] = []
    ended = threading.Event()

    def create() -> None:
        while not ended.is_set():
            made.append(tolerates(serving.create("both")))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for each in threads:
        each.start()
    try:
        yield made
    finally:
        ended.set()
        for each in threads:
            each.join()


def test_every_pod_is_admitted_while_the_process_is_killed(serving: Serving) -> None:
    assert serving.program is not None
    with load(serving) as made:
        wait_for(lambda: len(made) >= 4, "the first pods", timeout=30)
        before = len(made)
        assert all(made[:before])
        serving.program.process.send_signal(signal.SIGKILL)
        wait_for(lambda: len(made) > before + 40, "pods without the webhook", timeout=30)
    assert not all(made)
    serving.programs.stop(serving.program)
    serving.start()


def test_the_certificate_s_file_changes_under_load_without_a_failed_call(serving: Serving) -> None:
    before = serving.failed_open()
    with load(serving) as made:
        for _ in range(3):
            time.sleep(0.7)
            serving.issue()
    assert len(made) > 50
    assert all(made)
    assert serving.failed_open() == before
