"""``multiarch rebalance`` as a Job of its image: pods stop on the real amd64 node and start on the real arm64 node."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.facts.rebalance import CORDON_ANNOTATION, LEASE, LEASE_NAMESPACE
from multiarch.facts.taints import parse_taint
from multiarch.rebalance.install.objects import build_objects
from multiarch.rebalance.install.policy import NAME, NAMESPACE
from sandbox.cluster import images
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.pods import end_pods
from sandbox.cluster.programs import ClusterError, wait_for
from sandbox.registry.images import HOST
from sandbox.webhook_demo import demo
from sandbox.webhook_demo.installed import IMAGE, served
from sandbox.webhook_image import image
from tests.cluster.objects import workload_of
from tests.cluster.rebalancing import rebalance_plan
from tests.cluster.scenario_pods import preferred
from tests.real_nodes.pods import SHORT, SPACE, TOLERATES, log, namespace
from tests.scheduling.manifests import expression

MIRRORS, FOLDER = f"{NAME}-mirrors", "/etc/multiarch/mirrors"
AMD64, ARM64 = "node-amd64", "node-arm64"
REPLICAS = 2


@pytest.fixture(scope="module")
def nodes(real_nodes: Nodes) -> Iterator[Nodes]:
    """Both nodes, the arm64 one with its taint, and the CronJob's objects; its schedule is suspended."""
    for node in real_nodes.by_architecture.values():
        node.stop_kubelet()
    demo.start_nodes(real_nodes)
    kube = real_nodes.plane.kube
    for name, group in ((AMD64, "web"), (ARM64, "web-arm")):
        label = {EKS_NODE_GROUP: f"{group}-20261122130000000000000001"}
        kube.patch({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}, {"metadata": {"labels": label}})
    plan = rebalance_plan(image=IMAGE, pace="1s", namespaces=[SPACE])
    everything = [*build_objects(plan, "shop-dev", parse_taint("arch=arm64:NoSchedule")), mirrors(real_nodes)]
    with served(real_nodes, image.ensure(print)), namespace(kube):
        for each in everything:
            kube.apply(suspended(each))
        try:
            yield real_nodes
        finally:
            end_pods(kube, NAMESPACE)
            for each in reversed(everything):
                kube.delete(each)
            lease = kube.get("coordination.k8s.io/v1", "Lease", LEASE, LEASE_NAMESPACE)
            if lease is not None:
                kube.delete(lease)
    # Pods end by their kubelets; those of a Node that is deleted end after a minute.
    for node in real_nodes.by_architecture.values():
        node.stop_kubelet()


def suspended(item: Object) -> Object:
    return {**item, "spec": {**item["spec"], "suspend": True}} if item["kind"] == "CronJob" else item


def mirrors(nodes: Nodes) -> Object:
    """Pods have no DNS here."""
    url = f"http://{nodes.gateway.address}:{nodes.registry_port}"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": MIRRORS, "namespace": NAMESPACE},
        "data": {HOST: f'server = "{url}"\n'},
    }


def job_of(kube: Kube) -> Object:
    """The Job that ``kubectl create job --from`` makes, with the mirrors, beside the pods that it moves."""
    cron_job = kube.get("batch/v1", "CronJob", NAME, NAMESPACE)
    assert cron_job is not None
    spec = copy.deepcopy(cron_job["spec"]["jobTemplate"]["spec"])
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    container["args"].append(f"--hosts-dir={FOLDER}")
    container["volumeMounts"].append({"name": "mirrors", "mountPath": FOLDER, "readOnly": True})
    items = [{"key": HOST, "path": f"{HOST}/hosts.toml"}]
    pod["volumes"].append({"name": "mirrors", "configMap": {"name": MIRRORS, "items": items}})
    pod["nodeSelector"]["kubernetes.io/arch"] = "amd64"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "by-hand", "namespace": NAMESPACE},
        "spec": spec,
    }


def places(kube: Kube) -> dict[str, str]:
    """The node of each pod that runs and stays."""
    found = kube.list("v1", "Pod", SPACE, selector="app=api")
    return {
        str(each["metadata"]["name"]): str(each["spec"]["nodeName"])
        for each in found
        if each["status"]["phase"] == "Running" and "deletionTimestamp" not in each["metadata"]
    }


def all_on(kube: Kube, node: str) -> bool:
    return list(places(kube).values()) == [node] * REPLICAS


def cordon(kube: Kube, name: str, *, closed: bool | None) -> None:
    kube.patch({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}, {"spec": {"unschedulable": closed}})


def said(kube: Kube) -> str:
    found = kube.list("v1", "Pod", NAMESPACE, selector="job-name=by-hand")
    texts = []
    for each in found:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{each['metadata']['name']}/log"
        try:
            texts.append(str(kube.request("GET", path)["text"]))
        except Exception as error:  # noqa: BLE001  # the container may not have started
            texts.append(f"{error}; {each.get('status')}")
    return "\n".join(texts)


def test_pods_stop_on_the_amd64_node_and_start_on_the_arm64_node(nodes: Nodes) -> None:
    kube = nodes.plane.kube
    cordon(kube, ARM64, closed=True)
    wanted = {**preferred((1, expression("kubernetes.io/arch", "In", "arm64"))), "tolerations": TOLERATES}
    kube.create(workload_of("Deployment", "api", SPACE, replicas=REPLICAS, image=images.BOTH, **wanted, **SHORT))
    wait_for(lambda: all_on(kube, AMD64), "the pods to run on amd64", timeout=60)
    before = places(kube)
    assert all("machine x86_64" in log(kube, name) for name in before)
    cordon(kube, ARM64, closed=None)

    kube.create(job_of(kube))

    def done() -> bool:
        found = kube.get("batch/v1", "Job", "by-hand", NAMESPACE) or {}
        return bool(found.get("status", {}).get("succeeded") or found.get("status", {}).get("failed"))

    try:
        wait_for(done, "the Job", timeout=150, pause=0.5)
    except ClusterError as error:
        raise ClusterError(f"{error}:\n{said(kube)}") from error
    job = kube.get("batch/v1", "Job", "by-hand", NAMESPACE)
    assert job is not None
    assert job["status"].get("succeeded") == 1, said(kube)
    assert "2 pods moved." in said(kube)
    assert all_on(kube, ARM64)
    after = places(kube)
    assert all("machine aarch64" in log(kube, name) for name in after)
    gone = wait_for(lambda: not any(kube.get("v1", "Pod", name, SPACE) for name in before), "pods to end", timeout=30)
    assert gone
    node = kube.get("v1", "Node", AMD64)
    assert node is not None
    assert not node["spec"].get("unschedulable")
    assert CORDON_ANNOTATION not in node["metadata"].get("annotations", {})
