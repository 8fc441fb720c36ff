"""A control plane with nodes of both architectures, and the CronJob's objects in it: what rebalancing is tested on."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from multiarch.facts.rebalance import CORDON_ANNOTATION, LEASE, LEASE_NAMESPACE
from multiarch.facts.taints import parse_taint
from multiarch.rebalance.install.objects import build_objects
from multiarch.rebalance.install.policy import NAME, NAMESPACE
from multiarch.schema.rebalance import RebalancePlan
from sandbox.cluster import control_plane
from sandbox.cluster.control_plane import ControlPlane, write_kubeconfig
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import Programs, wait_for
from sandbox.layout import CLONE
from tests.cluster.kubelets import Kubelets, group_node
from tests.cluster.objects import ARM64_TOLERATION, workload_of
from tests.cluster.reading import namespace, token_of
from tests.stack.words import plan

SPACE = "moving"
AMD64_NODES = ("amd64-1.internal", "amd64-2.internal")
ARM64_NODES = ("arm64-1.internal", "arm64-2.internal")
_WORKLOADS = (
    *(("apps/v1", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
    ("policy/v1", "PodDisruptionBudget"),
    ("batch/v1", "Job"),
)
_TAINT = parse_taint("arch=arm64:NoSchedule")


def rebalance_plan(*, autoscaler: object = "none", **settings: object) -> RebalancePlan:
    """The plan of a small stack's CronJob: groups ``web`` (amd64) and ``web-arm``."""
    section = {"enabled": True, "image": "registry.example.com/multiarch:1", "ecrRepositories": [], **settings}
    groups = {"web": {"maxSize": 4}, "web-arm": {"maxSize": 4}}
    found = plan({"nodeGroups": groups, "autoscaling": {"use": autoscaler}, "rebalance": section}).rebalance
    if found is None:
        raise AssertionError("it is enabled")
    return found


@dataclass(frozen=True, slots=True)
class Moving:
    """The cluster of these tests. ``programs`` run the control plane; ``root`` is a repository with images."""

    plane: ControlPlane
    programs: Programs
    kubelets: Kubelets
    folder: Path
    root: str

    @property
    def kube(self) -> Kube:
        """The API server's client, an administrator's."""
        return self.plane.kube

    def install(self, settings: RebalancePlan) -> None:
        """Apply the CronJob's objects."""
        for each in build_objects(settings, "shop-dev", _TAINT):
            self.kube.apply(each)

    @property
    def account(self) -> Kube:
        """A client with the rights of the CronJob's service account."""
        return Kube(replace(self.kube.access, token=token_of(self.kube, NAME, NAMESPACE)))

    def add_nodes(self, names: Sequence[str]) -> None:
        """Add ready nodes, ``amd64-…`` of the group web and ``arm64-…`` of the group web-arm."""
        for name in names:
            architecture = name.partition("-")[0]
            group, kind = ("web-arm", "m7g.large") if architecture == "arm64" else ("web", "m7i.large")
            self.kube.apply(group_node(name, group, kind, architecture))

    def pods(self, app: str) -> list[Object]:
        """The pods of a workload that are not being deleted."""
        found = self.kube.list("v1", "Pod", SPACE, selector=f"app={app}")
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def places(self, app: str) -> list[str]:
        """The nodes of a workload's running pods, sorted."""
        running = [each for each in self.pods(app) if each["status"]["phase"] == "Running"]
        return sorted(str(each["spec"]["nodeName"]) for each in running)

    def run(self, workload: Mapping[str, Any], replicas: int) -> None:
        """Create a workload, and wait until it runs."""
        self.kube.apply(workload)
        name = workload["metadata"]["name"]
        wait_for(lambda: len(self.places(name)) == replicas, f"{name} to run", timeout=60)

    def marked(self) -> dict[str, tuple[bool, str]]:
        """By the name of each node that is cordoned or has the annotation: whether it is cordoned, the annotation."""
        found = {}
        for each in self.kube.list("v1", "Node"):
            closed = bool(each["spec"].get("unschedulable"))
            note = each["metadata"].get("annotations", {}).get(CORDON_ANNOTATION, "")
            if closed or note:
                found[str(each["metadata"]["name"])] = (closed, note)
        return found

    def command(self, settings: RebalancePlan, *more: str) -> list[str]:
        """What the CronJob's container runs, with the stack file of ``settings`` and the account's rights."""
        file = self.folder / "Pulumi.shop-dev.yaml"
        file.write_text(settings.stack_file)
        job = next(each for each in build_objects(settings, "shop-dev", _TAINT) if each["kind"] == "CronJob")
        (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        arguments = [str(file) if each.endswith(file.name) else each for each in container["args"]]
        return [sys.executable, "-m", "multiarch.cli", *arguments, *more]

    def environment(self) -> dict[str, str]:
        """Where the command finds the cluster, with the account's rights."""
        kubeconfig = write_kubeconfig(self.folder / "kubeconfig", self.account.access)
        own = {"KUBECONFIG": str(kubeconfig), "HOME": str(self.folder), "PYTHONPATH": str(CLONE)}
        return {**os.environ, **own, "DOCKER_CONFIG": str(self.folder), "NO_COLOR": "1", "COLUMNS": "120"}

    def start(self, settings: RebalancePlan, *more: str) -> subprocess.Popen[str]:
        """Start a run."""
        return subprocess.Popen(
            self.command(settings, *more),
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def rebalance(self, settings: RebalancePlan, *more: str, timeout: float = 120) -> tuple[int, str]:
        """Run it to its end; return its exit code and what it said."""
        running = self.start(settings, *more)
        said, _ = running.communicate(timeout=timeout)
        return running.returncode, said

    def cron_job(self) -> Object | None:
        """The CronJob."""
        return self.kube.get("batch/v1", "CronJob", NAME, NAMESPACE)

    def start_job(self) -> None:
        """Create a Job of the CronJob, as its controller does, and wait until its pod runs: it does nothing."""
        cron_job = self.cron_job()
        if cron_job is None:
            raise AssertionError("it is installed")
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": NAME, "uid": cron_job["metadata"]["uid"]}
        job: Object = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": f"{NAME}-now",
                "namespace": NAMESPACE,
                "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
            },
            "spec": cron_job["spec"]["jobTemplate"]["spec"],
        }
        self.kube.create(job)

        def runs() -> bool:
            pods = self.kube.list("v1", "Pod", NAMESPACE, selector=f"job-name={NAME}-now")
            return any(each["status"]["phase"] == "Running" for each in pods)

        wait_for(runs, "the Job's pod to run", timeout=30)

    def lease(self) -> Object | None:
        """The Lease of the runs."""
        return self.kube.get("coordination.k8s.io/v1", "Lease", LEASE, LEASE_NAMESPACE)

    def restart_api_server(self) -> None:
        """Kill the API server, and start it again after a second."""
        api = self.programs.named("kube-apiserver")
        api.process.kill()
        api.process.wait(timeout=10)
        self.programs.start("kube-apiserver", [str(each) for each in api.process.args])  # type: ignore[union-attr]

    def clear(self) -> None:
        """Take away workloads, nodes and the Lease."""
        self.kubelets.not_ending.clear()
        for api, kind in _WORKLOADS:
            for item in self.kube.list(api, kind, SPACE):
                self.kube.delete({"apiVersion": api, "kind": kind, **item})
        for item in self.kube.list("v1", "Node"):
            self.kube.delete({"apiVersion": "v1", "kind": "Node", **item})
        if (lease := self.lease()) is not None:
            self.kube.delete(lease)

        def empty() -> bool:
            for item in self.kube.list("v1", "Pod", SPACE):
                self.kube.delete({"apiVersion": "v1", "kind": "Pod", **item}, grace=0)
            return not self.kube.list("v1", "Pod", SPACE)

        wait_for(empty, "the pods to end", timeout=30)


@contextlib.contextmanager
def started(root: str) -> Iterator[Moving]:
    """A control plane of its own: tests restart its API server."""
    with Programs.running() as programs, tempfile.TemporaryDirectory() as folder:
        plane = control_plane.start(programs)
        plane.kube.apply(namespace(SPACE))
        wait_for(lambda: plane.kube.get("v1", "ServiceAccount", "default", SPACE), "the service account", timeout=30)
        with Kubelets(plane.kube).running() as kubelets:
            yield Moving(plane, programs, kubelets, Path(folder), root)


def template(app: str, image: str, *, tolerates_arm64: bool = True, cpu: str = "20m", **spec: Any) -> Object:
    """A pod's template."""
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}
    full: Object = {"containers": [container], "terminationGracePeriodSeconds": 5, **spec}
    if tolerates_arm64:
        full["tolerations"] = [ARM64_TOLERATION]
    return {"metadata": {"labels": {"app": app}}, "spec": full}


def deployment(app: str, image: str, replicas: int, **spec: Any) -> Object:
    """A Deployment."""
    made = workload_of("Deployment", app, SPACE, replicas=replicas)
    made["spec"]["template"] = template(app, image, **spec)
    return made


def budget(app: str, *, at_least: int) -> Object:
    """A PodDisruptionBudget."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": SPACE},
        "spec": {"minAvailable": at_least, "selector": {"matchLabels": {"app": app}}},
    }
