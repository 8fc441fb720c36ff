"""A real API server calls the webhook through its Service: for which pods, and what becomes of them."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from multiarch.facts.admission import DECISION_ANNOTATION, MODE_LABEL, OPT_OUT_ANNOTATION, AdmissionMode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.decision import Decider
from multiarch.webhook.model import DecisionOutcome, DecisionReason
from multiarch.webhook.pod import WrittenPod, read_pod
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import ARM64_TOLERATION
from tests.cluster.reading import namespace
from tests.cluster.temporary import applied
from tests.cluster.webhook_endpoint import AMD64_ONLY, BOTH, SIDECAR, Endpoint, serving
from tests.observability import metrics, promtool

LABELS = ["", *(str(mode) for mode in AdmissionMode), "off", "tolerrate"]
SPACES = {label: f"webhook-{label or 'default'}" for label in LABELS}


@pytest.fixture(scope="module")
def kube(control_plane: ControlPlane) -> Iterator[Kube]:
    """The API server, with a namespace for each value of the label."""
    kube = control_plane.kube
    spaces = [namespace(name, **({MODE_LABEL: label} if label else {})) for label, name in SPACES.items()]
    with applied(kube, spaces):
        for name in SPACES.values():
            wait_for(functools.partial(kube.get, "v1", "ServiceAccount", "default", name), "its account", timeout=30)
        yield kube


@pytest.fixture(scope="module")
def shared(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    folder = tmp_path_factory.mktemp("webhook")
    with serving(kube, {"annotate": True}, folder, excludedNamespaces=["default"]) as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(kube: Kube, shared: Endpoint) -> Endpoint:
    """The webhook, reached by the API server, and not called yet."""
    wait_for(lambda: tolerates(create(kube, {})), "the API server to call the webhook", timeout=30)
    shared.calls.clear()
    return shared


def create(kube: Kube, spec: Mapping[str, Any], label: str = "", **metadata: Any) -> Object:
    """Create a pod in the namespace of a label, on trial, and return what the API server made of it."""
    item: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "pod-", "namespace": SPACES.get(label, label), **metadata},
        "spec": {"containers": [{"name": "main", "image": BOTH}], **spec},
    }
    path = kube.path("v1", "Pod", SPACES.get(label, label))
    return kube.request("POST", path, body=item, query={"dryRun": "All"})


def tolerations(pod: Object) -> list[Object]:
    return [each for each in pod["spec"]["tolerations"] if not each["key"].startswith("node.kubernetes.io/")]


def tolerates(pod: Object) -> bool:
    return ARM64_TOLERATION in pod["spec"]["tolerations"]


# -- for which pods ----------------------------------------------------------------------------------------------------


def required(*terms: Mapping[str, Any]) -> Object:
    rule = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rule}}}


def expressions(*rules: tuple[str, str, Sequence[str]]) -> Object:
    rows = [
        {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        for key, operator, values in rules
    ]
    return {"matchExpressions": rows}


ARCH, OLD = "kubernetes.io/arch", "beta.kubernetes.io/arch"
BY_NAME = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
NOT_BY_NAME = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}
RULES: list[Object] = [
    {},
    {"nodeSelector": {"disk": "ssd"}},
    {"nodeSelector": {ARCH: "amd64"}},
    {"nodeSelector": {ARCH: "arm64", "disk": "ssd"}},
    {"nodeSelector": {OLD: "amd64"}},
    {"nodeSelector": {"node.kubernetes.io/instance-type": "m7g.large"}},
    {"nodeName": "n"},
    required(BY_NAME),
    required(NOT_BY_NAME),
    required(expressions((ARCH, "In", ["amd64"]))),
    required(expressions((ARCH, "In", ["amd64", "arm64"]))),
    required(expressions((ARCH, "NotIn", ["arm64"]))),
    required(expressions((ARCH, "In", ["arm64"]))),
    required(expressions((ARCH, "NotIn", ["amd64"])), expressions((OLD, "In", ["arm64"]))),
    required(expressions((ARCH, "In", ["amd64"])), expressions((OLD, "NotIn", ["arm64"]), ("disk", "Exists", []))),
    required(expressions((ARCH, "DoesNotExist", []))),
    {"affinity": {"podAffinity": {}}},
]
TOLERATIONS: list[list[Object]] = [
    [],
    [ARM64_TOLERATION],
    [{"operator": "Exists"}],
    [{"key": "arch", "operator": "Exists"}],
    [{"key": "arch", "operator": "Exists", "effect": "NoExecute"}],
    [{"key": "arch", "value": "amd64", "effect": "NoSchedule"}],
    [{"key": "other", "operator": "Exists"}, {"key": "arch", "operator": "Equal", "value": "arm64"}],
]
ANNOTATIONS: list[Object | None] = [
    None,
    {},
    {OPT_OUT_ANNOTATION: "off"},
    {OPT_OUT_ANNOTATION: "on"},
    {DECISION_ANNOTATION: "tolerate: before"},
]
CASES = [
    *((rules, [], None) for rules in RULES),
    *(({}, each, None) for each in TOLERATIONS),
    *(({}, each, marks) for each, marks in itertools.product([[], [ARM64_TOLERATION]], ANNOTATIONS)),
    *((RULES[2], each, ANNOTATIONS[4]) for each in TOLERATIONS[:2]),
]


@pytest.mark.parametrize("label", ["", "prefer", "pin", "observe"])
def test_the_webhook_is_spared_pods_that_it_would_skip(kube: Kube, endpoint: Endpoint, label: str) -> None:
    """And called for all others: what the API server can't see is named."""
    decider = Decider(WebhookConfiguration(annotate=True), AdmissionMode(label or "tolerate"))
    unseen = 0
    for rules, tolerated, marks in CASES:
        endpoint.calls.clear()
        sent = create(
            kube, {**rules, "tolerations": tolerated}, label, **({} if marks is None else {"annotations": marks})
        )
        pod = endpoint.calls[0][1] if endpoint.calls else sent
        written = msgspec.json.decode(json.dumps(pod), type=WrittenPod)
        decision = decider.without_images(read_pod(written, SPACES[label], frozenset()))
        skipped = decision is not None and decision.outcome is DecisionOutcome.SKIP
        case = (label, rules, tolerated, marks, decision)
        if not endpoint.calls:
            assert skipped, case
        elif decision is not None and decision.reason is DecisionReason.INVALID_MODE:
            # Called, so that it can warn.
            assert marks == {OPT_OUT_ANNOTATION: "on"}, case
        elif skipped:
            # A rule that another operator makes, or a preference that is there already.
            unseen += 1
            assert rules == required(expressions((ARCH, "DoesNotExist", []))), case
    assert unseen == 1


@pytest.mark.usefixtures("endpoint")
def test_what_each_mode_does(kube: Kube) -> None:
    made = {label: create(kube, {}, label) for label in SPACES}
    assert [label for label, pod in made.items() if tolerates(pod)] == ["", "tolerate", "prefer", "pin"]
    assert [label for label, pod in made.items() if "affinity" in pod["spec"]] == ["prefer"]
    single = {"containers": [{"name": "main", "image": AMD64_ONLY}]}
    left = {label: create(kube, single, label) for label in SPACES}
    assert not any(tolerates(pod) for pod in left.values())
    assert [label for label, pod in left.items() if "affinity" in pod["spec"]] == ["pin"]


@pytest.mark.parametrize("excluded", ["kube-system", "default", "multiarch-webhook"])
def test_no_call_for_excluded_namespaces(kube: Kube, endpoint: Endpoint, excluded: str) -> None:
    secured = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": BOTH, "securityContext": secured}
    assert not tolerates(create(kube, {"containers": [container]}, excluded))
    assert not endpoint.calls


# -- another webhook that adds a sidecar -------------------------------------------------------------------------------


def sidecars(kube: Kube, name: str) -> Object:
    """A registration of the webhook that adds sidecars, with this place in the order."""
    own = kube.get("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "zz-multiarch-webhook")
    assert own is not None
    (entry,) = (each for each in own["webhooks"] if each["name"].startswith("default."))
    client = {**entry["clientConfig"], "service": {**entry["clientConfig"]["service"], "path": SIDECAR}}
    selected = {"matchLabels": {"sidecar": "yes"}}
    webhook = {**entry, "name": "sidecars.example.com", "clientConfig": client, "objectSelector": selected}
    webhook["reinvocationPolicy"] = "Never"
    del webhook["matchConditions"], webhook["namespaceSelector"]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


def with_sidecar(kube: Kube, endpoint: Endpoint, label: str) -> Object:
    def made() -> Object | None:
        endpoint.calls.clear()
        pod = create(kube, {}, label, labels={"sidecar": "yes"})
        return pod if len(pod["spec"]["containers"]) == 2 else None

    return wait_for(made, "a pod with a sidecar", timeout=30)


def test_the_webhook_is_called_again_for_a_sidecar_of_a_later_one(kube: Kube, endpoint: Endpoint) -> None:
    """What was added is not taken back; in mode ``pin`` the pod goes where all of its images run."""
    with applied(kube, [sidecars(kube, "zzz-sidecars")]):
        pod = with_sidecar(kube, endpoint, "")
        assert [path for path, _ in endpoint.calls] == ["/mutate", SIDECAR, "/mutate"]
        assert tolerations(pod) == [ARM64_TOLERATION]
        assert "affinity" not in pod["spec"]
        pinned = with_sidecar(kube, endpoint, "pin")
        assert tolerations(pinned) == [ARM64_TOLERATION]
        rule = pinned["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert rule == {"nodeSelectorTerms": [expressions((ARCH, "In", ["amd64"]))]}


# -- when the webhook misbehaves ---------------------------------------------------------------------------------------


def test_the_api_server_counts_its_calls_as_alerts_and_dashboard_expect(
    kube: Kube, endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.stop()
    create(kube, {})
    endpoint.start()
    counted = {
        name: [labels for found, labels in metrics.series(kube.request("GET", "/metrics")["text"]) if found == name]
        for name in metrics.API_SERVER
    }
    # Pods are never rejected, so that series is not there.
    assert not counted.pop("apiserver_admission_webhook_rejection_count")
    for name, every in counted.items():
        ours = [labels for labels in every if labels["name"] == "default.webhook.multiarch-eks"]
        assert ours, name
        assert all(set(labels) == set(metrics.API_SERVER[name]) for labels in ours)
    failed = {
        promtool.written("apiserver_admission_webhook_fail_open_count", labels): "_x84 1x6"
        for labels in counted["apiserver_admission_webhook_fail_open_count"]
        if labels["name"] == "default.webhook.multiarch-eks"
    }
    firing = 'count(ALERTS{alertname="MultiarchWebhookFailsOpen",name="default.webhook.multiarch-eks"})'
    wanted = {"expr": firing, "eval_time": "90m", "exp_samples": [{"labels": "{}", "value": 1}]}
    promtool.unit_test(tmp_path, [{"series": failed, "promql_expr_test": [wanted]}])
