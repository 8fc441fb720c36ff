"""User data for Amazon Linux 2: a shell script that calls ``/etc/eks/bootstrap.sh``.

Sources: amazon-eks-ami, ``templates/al2/runtime/bootstrap.sh``; EKS user guide, "Customize managed nodes with launch
templates".
"""

from __future__ import annotations

import shlex

from multiarch.nodes.model import BootstrapCase, ClusterFacts, NodeGroupPlan
from multiarch.nodes.user_data import kubelet_flags, mime, script
from multiarch.nodes.user_data.errors import UserDataError


def render(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Render the user data; the package's docstring has the rules for each case.

    Raises UserDataError for kubelet flags or max pods where EKS calls ``bootstrap.sh``: user data could only add
    them by starting the kubelet a second time.
    """
    if group.case is BootstrapCase.EKS:
        return _merged_by_eks(group)
    lines = ["#!/bin/bash\n", "set -o errexit -o nounset -o pipefail\n", "\n"]
    if group.pre_bootstrap:
        lines += [script.run_in_place(group.pre_bootstrap), "\n"]
    return "".join([*lines, _call(group, cluster)])


def _merged_by_eks(group: NodeGroupPlan) -> str:
    for key, written in (("kubeletExtraArgs", bool(group.kubelet_extra_args)), ("maxPods", group.max_pods_written)):
        if written:
            raise UserDataError(
                group,
                f"can't set {key}: on AL2 EKS calls bootstrap.sh itself, and user data can't add arguments.",
                hint="Give ami.id, use kind: self-managed, or AL2023.",
            )
    parts = [mime.shell_script(script.runnable(group.pre_bootstrap))] if group.pre_bootstrap else []
    return mime.multipart(parts)


def _call(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Call ``bootstrap.sh`` with everything that it would otherwise request from the EKS API."""
    arguments = [
        (cluster.name,),
        ("--apiserver-endpoint", cluster.endpoint),
        ("--b64-cluster-ca", cluster.certificate_authority),
        ("--dns-cluster-ip", kubelet_flags.cluster_dns_ip(group, cluster)),
        # The table of max pods in the image lacks newer types, and AL2 gets no new images.
        ("--use-max-pods", "false"),
        ("--kubelet-extra-args", _flags(group)),
    ]
    lines = ["/etc/eks/bootstrap.sh", *(" ".join(map(shlex.quote, argument)) for argument in arguments)]
    return " \\\n  ".join(lines) + "\n"


def _flags(group: NodeGroupPlan) -> str:
    flags = [
        *kubelet_flags.label_and_taint_flags(group),
        f"--max-pods={group.max_pods}",
        *kubelet_flags.extra_flags(group),
    ]
    # bootstrap.sh writes the flags into Environment= of a systemd unit, where % begins a specifier and %% is a %.
    return " ".join(flags).replace("%", "%%")
