"""The MutatingAdmissionPolicy of ``multiarch webhook policy``, evaluated by a real API server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from multiarch.facts.admission import OPT_OUT_ANNOTATION, READY_LABEL
from multiarch.facts.taints import parse_taint
from multiarch.webhook.policy import build_admission_policy
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import ARM64_TOLERATION
from tests.cluster.reading import namespace
from tests.cluster.temporary import applied
from tests.cluster.webhook_endpoint import BOTH

READY, OTHER = "policy-ready", "policy-other"
GRAVITON = {"key": "graviton", "operator": "Equal", "effect": "NoExecute"}
TAINTS = [parse_taint("arch=arm64:NoSchedule"), parse_taint("graviton:NoExecute")]


@pytest.fixture(scope="module")
def kube(control_plane: ControlPlane) -> Iterator[Kube]:
    """The API server with the policy in force, and two namespaces of which one is declared ready."""
    kube = control_plane.kube
    spaces = [namespace(READY, **{READY_LABEL: "true"}), namespace(OTHER, **{READY_LABEL: "yes"})]
    with applied(kube, [*build_admission_policy("multiarch-tolerations", TAINTS), *spaces]):
        wait_for(lambda: in_force(kube), "the policy to be in force", timeout=60, pause=0.3)
        yield kube


def in_force(kube: Kube) -> bool:
    try:
        return tolerations(kube, {}) == [ARM64_TOLERATION, GRAVITON]
    except KubeError as error:
        if "serviceaccount" in error.message:
            return False  # the namespace is too new
        raise


def tolerations(kube: Kube, spec: Mapping[str, Any], space: str = READY, **metadata: Any) -> list[Object]:
    """The tolerations of a pod that is created on trial, but for those that every pod gets."""
    item = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "pod-", "namespace": space, **metadata},
        "spec": {"containers": [{"name": "main", "image": BOTH}], **spec},
    }
    made = kube.request("POST", kube.path("v1", "Pod", space), body=item, query={"dryRun": "All"})
    own = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    return [each for each in made["spec"]["tolerations"] if each.get("key") not in own]


def test_the_policy_is_accepted_without_warnings(kube: Kube) -> None:
    """The API server has checked the types of its expressions."""
    found = kube.get("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "multiarch-tolerations")
    assert found is not None
    assert found["spec"]["failurePolicy"] == "Ignore"
    assert not found.get("status", {}).get("typeChecking", {}).get("expressionWarnings")


def test_existing_tolerations_keep_their_order(kube: Kube) -> None:
    own = [
        {"key": "z", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
        {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
    ]
    assert tolerations(kube, {"tolerations": own}) == [*own, ARM64_TOLERATION, GRAVITON]


def test_a_pod_gets_the_tolerations_that_it_lacks(kube: Kube) -> None:
    everything: list[Object] = [{"operator": "Exists"}]
    assert tolerations(kube, {"tolerations": everything}) == everything
    one: list[Object] = [{"key": "arch", "operator": "Exists"}]
    assert tolerations(kube, {"tolerations": one}) == [*one, GRAVITON]


def test_a_pod_whose_rules_exclude_arm64_is_left_alone(kube: Kube) -> None:
    """All rules are tested with the webhook's registration, which has the same conditions."""
    assert tolerations(kube, {"nodeSelector": {"kubernetes.io/arch": "amd64"}}) == []
    for own in ({"kubernetes.io/arch": "arm64"}, {"disk": "ssd"}):
        assert tolerations(kube, {"nodeSelector": own}) == [ARM64_TOLERATION, GRAVITON]


def test_a_pod_that_opts_out_and_other_namespaces_are_left_alone(kube: Kube) -> None:
    assert tolerations(kube, {}, annotations={OPT_OUT_ANNOTATION: "off"}) == []
    assert tolerations(kube, {}, OTHER) == []
