"""User data for Amazon Linux 2: a shell script that calls ``/etc/eks/bootstrap.sh``.

Sources: amazon-eks-ami, ``templates/al2/runtime/bootstrap.sh``; EKS user guide, "Customize managed nodes with launch
templates".
"""

from __future__ import annotations

import shlex

from multiarch.nodes.model import BootstrapCase, ClusterFacts, NodeGroupPlan
from multiarch.nodes.user_data import kubelet_flags, mime, script


def render_al2(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Render the user data; the package's docstring has the rules for each case.

    Where EKS calls ``bootstrap.sh``, user data could only add kubelet flags or max pods by starting the kubelet twice.
    """
    if group.case is BootstrapCase.EKS:
        scripts = [script.write_mirrors(group.registry_mirrors)] if group.registry_mirrors else []
        scripts += [script.complete_script(group.pre_bootstrap)] if group.pre_bootstrap else []
        return mime.join_parts([mime.wrap_shell_script(each) for each in scripts])
    lines = ["#!/bin/bash\n", "set -o errexit -o nounset -o pipefail\n", "\n"]
    if group.registry_mirrors:
        lines += [script.write_mirrors(group.registry_mirrors).partition("\n")[2], "\n"]
    if group.pre_bootstrap:
        lines += [script.run_in_place(group.pre_bootstrap), "\n"]
    return "".join([*lines, _call(group, cluster)])


def _call(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Call ``bootstrap.sh`` with everything that it would otherwise request from the EKS API."""
    arguments = [
        (cluster.name,),
        ("--apiserver-endpoint", cluster.endpoint),
        ("--b64-cluster-ca", cluster.certificate_authority),
        ("--dns-cluster-ip", kubelet_flags.get_cluster_dns_ip(cluster)),
        *(
            (("--ip-family", "ipv6"), ("--service-ipv6-cidr", cluster.service_cidr))
            if ":" in cluster.service_cidr
            else ()
        ),
        # The table of max pods in the image lacks newer types, and AL2 gets no new images.
        ("--use-max-pods", "false"),
        ("--kubelet-extra-args", _flags(group)),
    ]
    lines = ["/etc/eks/bootstrap.sh", *(" ".join(map(shlex.quote, argument)) for argument in arguments)]
    return " \\\n  ".join(lines) + "\n"


def _flags(group: NodeGroupPlan) -> str:
    flags = [
        *kubelet_flags.build_label_flags(group),
        f"--max-pods={group.max_pods}",
        *group.kubelet_extra_args,
    ]
    # bootstrap.sh writes the flags into Environment= of a systemd unit, where % begins a specifier and %% is a %.
    return " ".join(flags).replace("%", "%%")
