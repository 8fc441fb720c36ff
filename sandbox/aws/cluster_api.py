"""The API servers of the sandbox's EKS clusters, as far as they say that they are there; they hold no objects.

Paths that need no credentials on EKS: Kubernetes documentation, "Kubernetes API health endpoints".
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass

from cryptography.hazmat.primitives import serialization

from sandbox import certificates

PATH = "/sandbox/kubernetes"
_ANSWERS = {
    **dict.fromkeys(("healthz", "livez", "readyz"), (200, b"ok")),
    "version": (200, b'{"major": "1", "minor": "36", "gitVersion": "v1.36.2"}'),
    "api/v1/secrets": (200, b'{"kind": "SecretList", "metadata": {}, "items": []}'),
    "apis/authorization.k8s.io/v1/selfsubjectaccessreviews": (
        201,
        b'{"kind": "SelfSubjectAccessReview", "status": {"allowed": true}}',
    ),
}


@dataclass(slots=True)
class ClusterApi:
    """``down_until`` is a time of the monotonic clock.

    ``endpoint`` and ``authority``, PEM in base64, are what clusters get from now on, for example those of a real API
    server; empty for this module's answers.
    """

    down_until: float = 0
    endpoint: str = ""
    authority: str = ""

    def empty(self) -> None:
        """Forget what was set."""
        self.down_until, self.endpoint, self.authority = 0, "", ""

    def answer(self, method: str, server: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Answer a request for a path of an API server, or set what they do: see ``controls``."""
        if method == "PUT" and server == "down":
            self.down_until = time.monotonic() + float(body)
            return 200, b""
        if method == "PUT" and server == "leads-to":
            self.endpoint, self.authority = json.loads(body)
            return 200, b""
        if time.monotonic() < self.down_until:
            return 503, b"the sandbox's API server is down"
        return _ANSWERS.get(path, (404, b"the sandbox's API server holds no objects"))


API = ClusterApi()


def make_authority(cluster: str) -> str:
    """Return a new certificate authority, PEM in base64. Nothing is signed by it."""
    made = certificates.authority(cluster).certificate
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
