"""Serve the kubernetes stand-in to a Pulumi engine."""

from __future__ import annotations

import sys

from sandbox.providers import quiet_end, sdk_version
from sandbox.providers.kubernetes.provider import KubernetesProvider
from sandbox.providers.serving import main

if __name__ == "__main__":
    quiet_end()
    main(sys.argv[1:], sdk_version("pulumi_kubernetes"), KubernetesProvider())
