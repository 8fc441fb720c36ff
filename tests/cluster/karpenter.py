"""The real Karpenter controller and its CustomResourceDefinitions, as ``tools/karpenter`` pins them.

The controller is a process beside the API server, with the rights of the service account that the project's release
installs, and no others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from ruamel.yaml import YAML

from components.iam.karpenter_role import SERVICE_ACCOUNT
from components.rendering import declare
from components.rendering.files import contents
from sandbox.cluster.control_plane import ControlPlane, write_kubeconfig
from sandbox.cluster.kube import Access, Kube, Object, is_true
from sandbox.cluster.programs import Program, Programs, free_ports, wait_for
from tests.cluster import charts
from tests.cluster.aws import Aws
from tests.stack.words import plan
from tools import build

PROVIDER = "github.com/aws/karpenter-provider-aws"
NAMESPACE = "kube-system"
START_SECONDS = 120.0
ACCESS_KINDS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_TOKEN_SECONDS = 86_400


@cache
def crds() -> tuple[Mapping[str, Any], ...]:
    """The CustomResourceDefinitions that the provider's release installs, sorted by file name."""
    folder = build.module_dir("karpenter", PROVIDER) / "pkg" / "apis" / "crds"
    reader = YAML(typ="safe")
    return tuple(reader.load(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.yaml")))


def install_crds(kube: Kube, *more: Object) -> None:
    """Apply the definitions, and return when the API server serves them."""
    definitions = (*crds(), *more)
    for definition in definitions:
        kube.apply(definition)
    wait_for_definitions(kube, definitions)


def wait_for_definitions(kube: Kube, definitions: Iterable[Mapping[str, Any]]) -> None:
    """Return when the API server serves what these definitions define."""
    for definition in definitions:
        name = definition["metadata"]["name"]

        def served(name: str = name) -> bool:
            found = kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
            return found is not None and is_true(found, "Established")

        wait_for(served, f"the definition {name}", timeout=30)


def access_objects() -> list[Object]:
    """Return the controller's service account, roles and bindings, from the chart with the values of a small stack."""
    made = declare(
        plan({"nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}}, "autoscaling": {"use": "karpenter"}})
    )
    values = contents(made.resources, {"kubeconfig": ""})["helm/karpenter.yaml"]
    return [each for each in charts.template("karpenter", values) if each["kind"] in ACCESS_KINDS]


def account_access(kube: Kube) -> Access:
    """Request a token of the controller's service account, as the kubelet does for its pods."""
    path = kube.path("v1", "ServiceAccount", NAMESPACE, SERVICE_ACCOUNT)
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    return replace(kube.access, token=str(kube.request("POST", f"{path}/token", body=request)["status"]["token"]))


def start(programs: Programs, plane: ControlPlane, aws: Aws) -> Program:
    """Start the controller, and return when it says that it is ready.

    Raises:
        ClusterError: it ended, or was not ready in time; the message shows the end of its log.
        BuildError: it could not be built.
    """
    folder = programs.folder / "karpenter"
    folder.mkdir()
    for item in access_objects():
        plane.kube.apply(item)
    kubeconfig = write_kubeconfig(folder / "kubeconfig", account_access(plane.kube))
    metrics_port, health_port = free_ports(2)
    environ = aws.environ() | {
        "CLUSTER_ENDPOINT": plane.kube.access.url,
        "CLUSTER_NAME": aws.cluster,
        # Tests stop the process for a while, in which it could not renew its lease.
        "DISABLE_LEADER_ELECTION": "true",
        "EKS_CONTROL_PLANE": "true",
        "HEALTH_PROBE_PORT": str(health_port),
        "INTERRUPTION_QUEUE": aws.cluster,
        # On-demand prices come with the controller, and moto has no pricing API. An isolated controller also leaves
        # the instance profiles of deleted node classes behind, as it would not in an ordinary VPC.
        "ISOLATED_VPC": "true",
        "KUBECONFIG": str(kubeconfig),
        "LOG_LEVEL": "debug",  # says how many pods it looks at
        "METRICS_PORT": str(metrics_port),
        "NO_PROXY": ",".join(["127.0.0.1", *filter(None, [os.environ.get("NO_PROXY")])]),
        "SYSTEM_NAMESPACE": NAMESPACE,
    }
    program = programs.start("karpenter", [build.ensure("karpenter")], environ)

    def ready() -> bool:
        program.still_running()
        try:
            with urlopen(f"http://127.0.0.1:{health_port}/readyz", timeout=2) as answer:
                return int(answer.status) == 200
        except (URLError, OSError):
            return False

    wait_for(ready, "Karpenter's controller", timeout=START_SECONDS)
    return program
