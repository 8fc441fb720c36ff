"""The webhook's handler on a review of 11 kB whose images are known: bytes in, bytes out, without a server.

Limits: 30 µs; and half of the time that ``json.loads`` takes for the same body. First reviews of a pod's kind, which
read its rules: 500 µs.
"""

from __future__ import annotations

import json
import sys
import timeit
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import show
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import NO_SECRETS, Answer, Decision, Found, PodImage, PullSecretNames, Request
from tests.webhook.stand_ins import answer_at_once

SIZE = 11_000
KNOWN_LIMIT_US = 30.0
NEW_LIMIT_US = 500.0
PEER_LIMIT = 0.5
NEW = 500
LONGEST_FIELD = 80
_FIELD: Mapping[str, object] = {".": {}, "f:name": {}, "f:value": {}}
"""What managed fields say of a variable in a container's environment."""
BOTH = Found(tuple(Judgement(each, Verdict.SUPPORTED, "", None) for each in Architecture))


class KnownImages:
    """Images that all support both architectures."""

    def known(self, image: PodImage, secrets: PullSecretNames = NO_SECRETS) -> Answer | None:  # noqa: ARG002
        """The same answer for all."""
        return BOTH

    async def look_up(
        self,
        images: Collection[PodImage],
        secrets: PullSecretNames = NO_SECRETS,  # noqa: ARG002
        *,
        seconds: float,  # noqa: ARG002
    ) -> Mapping[PodImage, Answer]:
        """All of them."""
        return dict.fromkeys(images, BOTH)


class NoObserver:
    """Listens to nothing but faults."""

    def decided(self, request: Request, decision: Decision, seconds: float) -> None:
        """Forget it."""

    def failed(self, reason: str, text: str) -> None:
        """End the benchmark."""
        sys.exit(f"a review failed: {reason}: {text}")


def review(number: int = 0, selector: str = "apps", size: int = SIZE) -> bytes:
    """A review of ``size`` bytes as the API server writes it: a pod of a Deployment with a sidecar and managed fields.

    ``number`` makes pods that differ like replicas do, ``selector`` pods that differ in where they may be.
    """
    account = f"kube-api-access-{number:05d}"
    mounts = [{"name": account, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]
    pod: dict[str, Any] = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "checkout-6d4cf56db6-",
            "namespace": "shop",
            "labels": {"app": "checkout", "pod-template-hash": "6d4cf56db6"},
            "annotations": {"prometheus.io/scrape": "true", "checksum/config": "0" * 64},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "checkout-6d4cf56db6",
                    "uid": "5a4d1c64-0f0e-4d0a-9d3e-8f8b5e1d7c11",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "volumes": [{"name": account, "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
            "initContainers": [_container("migrate", mounts)],
            "containers": [_container("checkout", mounts), _container("proxy", mounts)],
            "restartPolicy": "Always",
            "nodeSelector": {"pool": selector},
            "serviceAccountName": "checkout",
            "imagePullSecrets": [{"name": "registry"}],
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{name}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for name in ("not-ready", "unreachable")
            ],
        },
        "status": {},
    }
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    whole = {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": f"0df28fbd-5f5f-11e8-bc74-{number:012d}",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "namespace": "shop",
            "operation": "CREATE",
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller", "groups": ["a", "b"]},
            "object": pod,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }
    fields: dict[str, object] = {}
    pod["metadata"]["managedFields"] = [{"manager": "kube-controller-manager", "fieldsV1": {"f:spec": fields}}]
    missing = size - len(_json(whole))
    while missing > LONGEST_FIELD:
        name = f'k:{{"name":"SETTING_{len(fields):03d}"}}'
        fields[name] = _FIELD
        missing -= len(_json({name: _FIELD})) - 1
    return _json(whole).ljust(size)


def _container(name: str, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/shop/{name}:v1.27.3",
        "env": [{"name": f"SETTING_{number}", "value": f"value of the setting {number}"} for number in range(20)],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": mounts,
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _microseconds(statement: Any, count: int) -> float:  # noqa: ANN401 (a call without arguments)
    """The fastest of seven runs: what else the machine does only adds."""
    return min(timeit.repeat(statement, number=count, repeat=7)) / count * 1e6


def main() -> None:
    """Print the times with their limits, and compare with ``json.loads``."""
    handler = Handler(WebhookConfiguration(), KnownImages(), NoObserver())
    replicas = [review(number) for number in range(100)]
    if any(b'"patchType":"JSONPatch"' not in answer_at_once(handler, each) for each in replicas):
        sys.exit("a pod was not patched")
    known = _microseconds(lambda: [answer_at_once(handler, each) for each in replicas], 20) / len(replicas)
    peer = _microseconds(lambda: [json.loads(each) for each in replicas], 5) / len(replicas)
    others = iter([review(0, f"pool-{number}") for number in range(7 * NEW)])
    new = _microseconds(lambda: answer_at_once(handler, next(others)), NEW)
    show(f"a review of {SIZE} bytes, images and pod known", known, KNOWN_LIMIT_US, "µs")
    show(f"json.loads of it takes {peer:.0f} µs; ours", known / peer, PEER_LIMIT, "of it")
    show("the first review of a pod with other rules", new, NEW_LIMIT_US, "µs")


if __name__ == "__main__":
    main()
