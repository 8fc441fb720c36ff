"""The admission webhook: its objects in the cluster, and the role that lets it read images of Amazon ECR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from multiarch.stack.model import AdmissionWebhookPlan
from multiarch.webhook.install.model import Installation
from multiarch.webhook.install.objects import objects

from . import kubernetes_api, pod_identity
from .account import Account
from .component import Component, Naming
from .kubernetes_api import Manifest

_LATER = {
    # They wait for the objects that the other kinds are, and are not waited for.
    "Job": 1,
    "CronJob": 1,
    "Deployment": 2,
    "HorizontalPodAutoscaler": 2,
    # The engine waits for a Service until a pod is ready behind it.
    "Service": 2,
    "MutatingWebhookConfiguration": 3,
}
"""The kinds that come after others, in steps. What comes last is deleted first: the API server never calls a webhook
whose pods are gone.
"""
_NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
"""The Job ends once the MutatingWebhookConfiguration is there, which comes after the pods that wait for the Job."""


@dataclass(frozen=True, slots=True)
class AdmissionWebhookArgs:
    """``provider`` reaches the Kubernetes API; ``ready`` is what the webhook's pods run on."""

    plan: AdmissionWebhookPlan
    cluster_name: pulumi.Input[str]
    naming: Naming
    account: Account
    provider: pulumi.ProviderResource
    ready: Sequence[pulumi.Resource]


class AdmissionWebhook(Component):
    """The webhook as :mod:`multiarch.webhook.install` lists its objects.

    What controllers write is not declared, so that no update changes it: the Secret's data, each ``caBundle``, and the
    number of replicas where there is a HorizontalPodAutoscaler.
    """

    def __init__(self, name: str, args: AdmissionWebhookArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare role, Pod Identity association and objects."""
        super().__init__("AdmissionWebhook", name, args.naming, opts)
        values = args.plan.values
        self._installation = Installation(**{key: getattr(values, key) for key in values.model_fields_set})
        manifests = objects(self._installation)
        (namespace,) = (each for each in manifests if each["kind"] == "Namespace")
        done = [self._declare(namespace, args, args.ready)]
        before_pods = self._identity(args, done)
        for step in range(max(_LATER.values()) + 1):
            declared = [
                self._declare(each, args, (*done, *before_pods))
                for each in manifests
                if each is not namespace and _LATER.get(each["kind"], 0) == step
            ]
            # A later step waits for the steps before through these.
            done = declared or done
        self.register_outputs({"namespace": self._installation.namespace})

    def _declare(
        self, manifest: Manifest, args: AdmissionWebhookArgs, after: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        metadata: dict[str, object] = dict(manifest["metadata"])  # type: ignore[call-overload]  # of any object
        manifest = {**manifest, "metadata": metadata}
        if manifest["kind"] == "Job":
            metadata["annotations"] = _NOT_AWAITED
            spec: Manifest = manifest["spec"]  # type: ignore[assignment]  # as above
            # Kubernetes would delete it, and every later update create it again.
            manifest["spec"] = {key: value for key, value in spec.items() if key != "ttlSecondsAfterFinished"}
        place = metadata.get("namespace", self._installation.namespace)
        own = place == self._installation.namespace
        name = str(metadata["name"]) if own else f"{metadata['name']}-{place}"
        opts = self.child(name, depends_on=after, provider=args.provider)
        return kubernetes_api.declare_object(name, manifest, opts)

    def _identity(self, args: AdmissionWebhookArgs, ready: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Declare the role of the pods and the guard, which must exist before they start."""
        if not args.plan.ecr_repositories:
            return []
        return pod_identity.give_repositories(
            self,
            self._installation.name,
            args.plan.ecr_repositories,
            account=args.account,
            cluster_name=args.cluster_name,
            description=f"Admission webhook of {self.naming.cluster}",
            provider=args.provider,
            ready=ready,
            namespace=self._installation.namespace,
        )
