"""The webhook's certificate: objects of cert-manager, or of the Job and CronJob that issue and renew it."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.manifests import restricted
from multiarch.webhook.install import parts
from multiarch.webhook.install.model import Installation, Object

INJECTION = "cert-manager.io/inject-ca-from"
"""On the MutatingWebhookConfiguration: cert-manager writes the authority of this Certificate into it."""
_SCHEDULE = "17 3 * * *"
_DAY = 86400
_TEN_YEARS = "87600h"


def objects(installation: Installation) -> Iterator[Object]:
    """All objects for the certificate but the ones with rights, see :func:`roles`."""
    if installation.certificates == "cert-manager":
        yield from _cert_manager(installation)
    else:
        yield from _self_managed(installation)


def roles(installation: Installation) -> Iterator[Object]:
    """For self-managed ones: the Job's ServiceAccount, which may change the Secret and the webhook's registration."""
    if installation.certificates == "cert-manager":
        return
    name = installation.certificates_name
    metadata = parts.metadata(installation, parts.CERTIFICATES, name=name)
    yield restricted.service_account(metadata)
    secrets = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [installation.secret_name]}
    yield from restricted.granted(metadata, [{**secrets, "verbs": ["get", "patch"]}], name, installation.namespace)
    webhooks = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["mutatingwebhookconfigurations"],
        "resourceNames": [installation.registration_name],
    }
    metadata = parts.metadata(installation, parts.CERTIFICATES, name=name, namespace="")
    yield from restricted.granted(metadata, [{**webhooks, "verbs": ["get", "patch"]}], name, installation.namespace)


def _self_managed(installation: Installation) -> Iterator[Object]:
    # Without data, so that applying the manifests again keeps what the Job wrote. Opaque, because the other type can't
    # be empty. If the Job made it, it would need the right to create any Secret.
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": parts.metadata(installation, parts.CERTIFICATES, name=installation.secret_name),
        "type": "Opaque",
    }
    spec = _job_spec(installation)
    # A Job can't be changed: one that differs has another name.
    name = f"{installation.certificates_name}-{parts.digest(spec)[:8]}"
    yield {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": parts.metadata(installation, parts.CERTIFICATES, name=name),
        "spec": spec,
    }
    yield {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": parts.metadata(installation, parts.CERTIFICATES, name=installation.certificates_name),
        "spec": {
            "schedule": _SCHEDULE,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": _DAY // 2,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": spec},
        },
    }


def arguments(installation: Installation) -> list[str]:
    """Of ``multiarch``: issue the certificate, or renew it where it is due, and hand it to the API server."""
    return [
        *("webhook", "certificates"),
        f"--namespace={installation.namespace}",
        f"--secret={installation.secret_name}",
        f"--webhook={installation.registration_name}",
        f"--service={installation.name}",
    ]


def _job_spec(installation: Installation) -> Object:
    account = installation.certificates_name
    resources = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}
    return {
        "backoffLimit": 6,
        "activeDeadlineSeconds": 600,
        "ttlSecondsAfterFinished": _DAY,
        "template": {
            "metadata": {"labels": parts.selector(installation, parts.CERTIFICATES)},
            "spec": {
                **parts.pod_spec(installation, service_account=account, uses_api=True),
                "restartPolicy": "OnFailure",
                "containers": [parts.container("certificates", installation, arguments(installation), resources)],
            },
        },
    }


def _cert_manager(installation: Installation) -> Iterator[Object]:
    """The certificate, and an authority for it where the installation names no issuer.

    A self-signed certificate would be its own authority: with each renewal, calls would fail until both the API servers
    and all replicas have the new one.
    """
    if installation.issuer:
        issuer = {"name": installation.issuer.name, "kind": installation.issuer.kind}
    else:
        root, issued_by_root = f"{installation.name}-root", f"{installation.name}-authority"
        issuer = {"name": issued_by_root, "kind": "Issuer"}
        yield _issuer(installation, root, {"selfSigned": {}})
        yield _certificate(
            installation,
            issued_by_root,
            # With the same key in its next certificate, what it signed before stays trusted.
            "Never",
            {
                "isCA": True,
                "commonName": issued_by_root,
                "secretName": issued_by_root,
                "duration": _TEN_YEARS,
                "issuerRef": {"name": root, "kind": "Issuer"},
            },
        )
        yield _issuer(installation, issued_by_root, {"ca": {"secretName": issued_by_root}})
    yield _certificate(
        installation,
        installation.name,
        "Always",
        {
            "dnsNames": installation.host_names,
            "usages": ["digital signature", "server auth"],
            "secretName": installation.secret_name,
            "duration": "2160h",
            "renewBefore": "720h",
            "issuerRef": issuer,
        },
    )


def _issuer(installation: Installation, name: str, spec: Object) -> Object:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": parts.metadata(installation, parts.CERTIFICATES, name=name),
        "spec": spec,
    }


def _certificate(installation: Installation, name: str, new_key: str, spec: Object) -> Object:
    """A Certificate; ``new_key`` says whether each renewal has a new key, ``Always`` or ``Never``."""
    key = {"algorithm": "ECDSA", "size": 256, "rotationPolicy": new_key}
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": parts.metadata(installation, parts.CERTIFICATES, name=name),
        "spec": {**spec, "privateKey": key},
    }
