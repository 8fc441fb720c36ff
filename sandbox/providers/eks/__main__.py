"""Serve the eks stand-in to a Pulumi engine."""

from __future__ import annotations

import sys

import pulumi_aws  # noqa: F401 - makes resource references in inputs known
from pulumi.provider import main

from sandbox.providers import quiet_end
from sandbox.providers.eks.provider import EksProvider

if __name__ == "__main__":
    quiet_end()
    main(EksProvider(), sys.argv[1:])
