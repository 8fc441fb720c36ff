"""``multiarch webhook serve`` behind its Service, with a real API server and a registry of every shape of image."""

from __future__ import annotations

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
from sandbox.cluster import certificates
from sandbox.cluster.certificates import Pair
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import ClusterError, Program, Programs, free_ports, wait_for
from sandbox.layout import CLONE
from tests.cluster.objects import ARM64_TOLERATION
from tests.cluster.webhook_endpoint import applied, chart_objects, host_address, lead_to, with_authority
from tests.images.shapes import UNKNOWN, Repository
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
    """A repository with every shape of image, by tag."""
    with server.running(programs=cluster_programs, lenient=True) as running:
        made = Repository(running, "team/app")
        amd64, arm64 = made.entry("linux/amd64"), made.entry("linux/arm64")
        made.index([amd64, arm64], tag="both")
        made.index(
            [made.entry("linux/amd64", docker=True), made.entry("linux/arm64", docker=True)], tag="list", docker=True
        )
        made.index([amd64, {**made.entry("linux/arm64/v8")}], tag="variant")
        attestation = {**made.entry("linux/amd64"), "platform": UNKNOWN}
        made.index([amd64, arm64, attestation], tag="attested")
        inner = made.index([arm64], tag=None)
        nested = {"mediaType": inner.media_type, "digest": inner.digest, "size": inner.size}
        made.index([amd64, nested], tag="nested")
        made.index([{k: v for k, v in each.items() if k != "platform"} for each in (amd64, arm64)], tag="no-platform")
        made.index([amd64], tag="index-of-amd64")
        made.index([amd64, made.entry("linux/arm/v7")], tag="arm-v7")
        made.index([amd64, made.entry("windows/arm64")], tag="windows-arm64")
        made.image("linux/amd64", tag="single-amd64")
        made.image("linux/arm64", tag="single-arm64")
        made.artifact("application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart", tag="chart")
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


@pytest.mark.parametrize("tag", ["both", "list", "variant", "attested", "nested"])
def test_an_image_of_both_architectures_gets_the_toleration(serving: Serving, tag: str) -> None:
    assert tolerates(serving.create(tag))


@pytest.mark.parametrize(
    "tag",
    # containerd tries only the first entry without a platform.
    ["no-platform", "index-of-amd64", "arm-v7", "windows-arm64", "single-amd64", "single-arm64", "chart", "not-there"],
)
def test_any_other_image_keeps_the_pod_as_it_is(serving: Serving, tag: str) -> None:
    assert not tolerates(serving.create(tag))
    assert not tolerates(serving.create("both", tag))


def test_every_pod_is_admitted_while_the_process_is_killed(serving: Serving) -> None:
    assert serving.program is not None
    made: list[bool] = []
    ended = threading.Event()

    def load() -> None:
        while not ended.is_set():
            made.append(tolerates(serving.create("both")))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for each in threads:
        each.start()
    try:
        time.sleep(0.5)
        before = len(made)
        assert before
        assert all(made[:before])
        serving.program.process.send_signal(signal.SIGKILL)
        wait_for(lambda: len(made) > before + 40, "pods without the webhook", timeout=30)
    finally:
        ended.set()
        for each in threads:
            each.join()
    assert not all(made)
    serving.programs.stop(serving.program)
    serving.start()


def test_the_certificate_s_file_changes_under_load_without_a_failed_call(serving: Serving) -> None:
    before, made, ended = serving.failed_open(), list[bool](), threading.Event()

    def load() -> None:
        while not ended.is_set():
            made.append(tolerates(serving.create("both")))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for each in threads:
        each.start()
    try:
        for _ in range(3):
            time.sleep(0.7)
            serving.issue()
    finally:
        ended.set()
        for each in threads:
            each.join()
    assert len(made) > 50
    assert all(made)
    assert serving.failed_open() == before
