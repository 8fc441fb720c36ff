"""What the checks of ``doctor`` read: programs of this machine, AWS, and the cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from multiarch.doctor.existing import Clients, read_cluster
from multiarch.doctor.joined import JoinedCluster, read_joined_cluster
from multiarch.doctor.model import CheckResult
from multiarch.errors import OutsideError
from multiarch.kubernetes.cluster import KubernetesCluster, open_described_cluster
from multiarch.kubernetes.source import ClusterAccess
from multiarch.nodes.model import ClusterFacts
from multiarch.stack.eks_cluster import EksCluster
from multiarch.stack.identity import format_kubeconfig
from multiarch.stack.load import Stack
from multiarch.stack.model import ExistingClusterPlan, Plan

Check = Callable[[Any], Iterable[CheckResult]]
"""Takes :class:`MachineSources` or :class:`StackSources`, and returns rows. An error makes the row unknown."""
_SECONDS = 30
"""Time limit of a program."""


@dataclass(kw_only=True)
class MachineSources:
    """What checks without a stack read; ``root`` is the clone. The check of credentials sets ``region`` and ``caller``.

    ``caller`` is the ARN of the identity that Pulumi uses; empty where AWS can't be queried.
    """

    root: Path
    clients: Clients
    region: str = ""
    caller: str = ""


@dataclass(kw_only=True)
class StackSources(MachineSources):
    """What checks of a stack read."""

    stack: Stack
    plan: Plan
    access: ClusterAccess

    @cached_property
    def joined(self) -> JoinedCluster:
        """The existing cluster that the stack adds nodes to, read once."""
        return read_joined_cluster(self.clients, self.plan)

    @cached_property
    def cluster(self) -> EksCluster | None:
        """The cluster of the stack's name, read once."""
        is_theirs = isinstance(self.plan.cluster, ExistingClusterPlan)
        return self.joined.cluster if is_theirs else read_cluster(self.clients, self.plan)

    @contextmanager
    def open_cluster(self, found: EksCluster) -> Iterator[KubernetesCluster]:
        """Open the Kubernetes API with the kubeconfig that was given, otherwise as Pulumi does.

        Raises MultiarchError, also for a kubeconfig of another cluster.
        """
        if not self.access.is_given:
            facts = ClusterFacts(self.plan.cluster.name, found.endpoint, found.authority, "")
            with open_described_cluster(format_kubeconfig(facts, self.region, self.plan.identity)) as cluster:
                yield cluster
            return
        with KubernetesCluster(self.access) as cluster:
            cluster.require_endpoint(found.endpoint, self.plan.cluster.name)
            yield cluster


def query_program(program: str, *words: str, folder: Path | None = None) -> str:
    """Return what a program on PATH prints. Raises OutsideError if it fails, or is not there."""
    if shutil.which(program) is None:
        raise OutsideError(f"There is no `{program}` on PATH.")
    environment = os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(  # noqa: S603 (a program that `pulumi up` runs too)
            [program, *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", None) or error).strip().removesuffix(".").splitlines()[-1]
        raise OutsideError(f"`{program} {' '.join(words)}` failed: {said}.") from error
    return done.stdout
