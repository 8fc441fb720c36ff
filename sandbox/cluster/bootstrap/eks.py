"""A stand-in for EKS: what it adds to the user data of managed node groups without a custom AMI.

EKS takes labels and taints from the node group API and merges its own part with the user data of the launch template.
The parts follow user data seen on EKS nodes; which of the two documents comes first is not documented.
Source: EKS user guide, "Customize managed nodes with launch templates".
"""

from __future__ import annotations

import ipaddress
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from multiarch.autoscaling.node_labels import group_labels
from multiarch.facts import labels as keys
from multiarch.facts.ami_families import AmiFamily, choose_by_family
from multiarch.facts.instance_types import recommended_max_pods
from multiarch.nodes.model import ClusterFacts, NodeGroupPlan


@dataclass(frozen=True, slots=True)
class ManagedGroup:
    """A managed node group as EKS knows it: its name there, its image, and EKS's own launch template."""

    name: str
    image: str = "ami-0123456789abcdef0"
    launch_template: str = "lt-0123456789abcdef0"
    launch_template_version: str = "1"

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that EKS adds to those of the node group API and ``eks.amazonaws.com/capacityType``."""
        return {
            keys.EKS_NODE_GROUP: self.name,
            keys.EKS_IMAGE: self.image,
            keys.EKS_LAUNCH_TEMPLATE_ID: self.launch_template,
            keys.EKS_LAUNCH_TEMPLATE_VERSION: self.launch_template_version,
        }


def own_part(group: NodeGroupPlan, cluster: ClusterFacts, made: ManagedGroup) -> str:
    """EKS's part of the user data. EKS computes max pods itself: the least of all instance types, without prefixes."""
    pods = min(map(recommended_max_pods, group.instance_types))
    part = choose_by_family(_PARTS, group.family, "AMI family with a stand-in for EKS's user data")
    return part(group, cluster, {**group_labels(group), **made.labels}, pods)


def _label_and_taint_flags(group: NodeGroupPlan, labels: Mapping[str, str]) -> list[str]:
    flags = ["--node-labels=" + ",".join(f"{key}={value}" for key, value in labels.items())]
    if group.taints:
        flags.append("--register-with-taints=" + ",".join(map(str, group.taints)))
    return flags


def _al2(group: NodeGroupPlan, cluster: ClusterFacts, labels: Mapping[str, str], pods: int) -> str:
    flags = [*_label_and_taint_flags(group, labels), f"--max-pods={pods}"]
    arguments = {
        "--kubelet-extra-args": " ".join(flags),
        "--b64-cluster-ca": cluster.certificate_authority,
        "--apiserver-endpoint": cluster.endpoint,
        "--dns-cluster-ip": _dns(cluster),
        "--use-max-pods": "false",
    }
    words = [cluster.name, *(word for pair in arguments.items() for word in pair)]
    return f"#!/bin/bash\nset -ex\n/etc/eks/bootstrap.sh {shlex.join(words)}\n"


def _al2023(group: NodeGroupPlan, cluster: ClusterFacts, labels: Mapping[str, str], pods: int) -> str:
    spec = {
        "cluster": {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "cidr": cluster.service_cidr,
        },
        "kubelet": {
            "config": {"maxPods": pods, "clusterDNS": [_dns(cluster)]},
            "flags": _label_and_taint_flags(group, labels),
        },
    }
    text: str = yaml.safe_dump({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})
    return text


def _bottlerocket(group: NodeGroupPlan, cluster: ClusterFacts, labels: Mapping[str, str], pods: int) -> str:
    taints: dict[str, list[str]] = {}
    for taint in group.taints:
        taints.setdefault(taint.key, []).append(f"{taint.value}:{taint.effect}")
    tables: dict[str, Mapping[str, Any]] = {
        "settings.kubernetes": {
            "api-server": cluster.endpoint,
            "cluster-certificate": cluster.certificate_authority,
            "cluster-dns-ip": _dns(cluster),
            "cluster-name": cluster.name,
            "max-pods": pods,
        },
        "settings.kubernetes.node-labels": labels,
        "settings.kubernetes.node-taints": taints,
    }
    # Strings, numbers and lists of them are written in TOML as in JSON.
    rows = {name: [f"{json.dumps(key)} = {json.dumps(table[key])}" for key in table] for name, table in tables.items()}
    return "".join("\n".join([f"[{name}]", *lines, ""]) for name, lines in rows.items())


def _dns(cluster: ClusterFacts) -> str:
    return str(ipaddress.IPv4Network(cluster.service_cidr)[10])


_PARTS = {AmiFamily.AL2: _al2, AmiFamily.AL2023: _al2023, AmiFamily.BOTTLEROCKET: _bottlerocket}
