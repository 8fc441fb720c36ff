"""One installation of the webhook, and the names of its objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from multiarch.facts.taints import Taint, parse_taint
from multiarch.schema.webhook_installation import InstallationValues, Label, Name

Object = dict[str, Any]
"""A Kubernetes object, or a part of one."""

HTTPS_PORT = 8443
METRICS_PORT = 8080
"""Plain HTTP: ``/metrics`` and what the kubelet asks."""
CONFIGURATION_FOLDER = "/etc/multiarch/webhook"
CONFIGURATION_FILE = "config.yaml"
CERTIFICATE_FOLDER = "/etc/multiarch/tls"
SHARED_CACHE_FOLDER = "/etc/multiarch/shared-cache"
SHARED_CACHE_FILE = "url"


class Installation(InstallationValues):
    """One installation: its names, and everything that may vary. Frozen.

    Python code gives the fields by their names: ``Installation(image="…", replicas=3)``. For the keys of a values file,
    ``Installation.model_validate(values, by_alias=True, by_name=False)``.

    Raises pydantic's ValidationError.
    """

    name: Name = "multiarch-webhook"
    """The name of most objects; the others add something to it."""
    namespace: Label = "multiarch-webhook"
    """The namespace of the webhook; with Helm, that of the release."""

    @property
    def certificates_name(self) -> str:
        """Of what issues certificates: Job (with a suffix), CronJob, ServiceAccount, Role, ClusterRole."""
        return f"{self.name}-certificates"

    @property
    def secret_name(self) -> str:
        """Of the Secret with ``tls.crt``, ``tls.key`` and ``ca.crt``.

        cert-manager's has another type, which can't be changed, and belongs to no Helm release or stack: with one name
        for both, nobody could go from the one way to the other.
        """
        return f"{self.name}-{'tls' if self.certificates == 'self-managed' else 'cert-manager'}"

    @property
    def registration_name(self) -> str:
        """Of the MutatingWebhookConfiguration.

        API servers call webhooks in the order of these names, and this one should see what the others add to a pod.

        Source: kubernetes, ``apiserver/pkg/admission/configuration/mutating_webhook_manager.go``.
        """
        return f"zz-{self.name}"

    @property
    def host_names(self) -> list[str]:
        """The names of the Service that the certificate is for; the API server uses the first."""
        return [f"{self.name}.{self.namespace}.svc", f"{self.name}.{self.namespace}.svc.cluster.local"]

    @property
    def taints(self) -> list[Taint]:
        """Those of the configuration. Raises TaintSyntaxError."""
        return [parse_taint(text) for text in self.configuration.taints]

    @property
    def configuration_data(self) -> Object:
        """The configuration file: all keys that have a value, and where the shared cache's URL is."""
        data: Object = self.configuration.model_dump(by_alias=True, exclude_none=True)
        if self.shared_cache:
            data["cache"]["sharedUrlFile"] = f"{SHARED_CACHE_FOLDER}/{SHARED_CACHE_FILE}"
        return data

    @property
    def pull_secrets(self) -> Mapping[str, list[str]]:
        """The names of the pull secrets that the webhook may read, by namespace, sorted."""
        found: dict[str, set[str]] = {}
        for each in self.configuration.registries.pull_secrets:
            namespace, _, name = each.partition("/")
            found.setdefault(namespace, set()).add(name)
        return {namespace: sorted(found[namespace]) for namespace in sorted(found)}

    @property
    def uses_api(self) -> bool:
        """Whether the server itself calls the Kubernetes API."""
        return bool(self.pull_secrets) or self.configuration.events
