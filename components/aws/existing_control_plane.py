"""The control plane of a cluster that is there already: read, never changed."""

from __future__ import annotations

import pulumi
from pulumi_aws import eks

from multiarch.nodes.model import ClusterFacts
from multiarch.stack.model import ExistingClusterPlan

from ..component import Child, Component


class ExistingControlPlane(Child):
    """What nodes and the Kubernetes provider need of an existing cluster, as :class:`ControlPlane` has it."""

    name: pulumi.Output[str]
    version: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    facts: pulumi.Output[ClusterFacts]
    security_group_id: pulumi.Output[str]
    vpc_id: pulumi.Output[str]

    def __init__(self, name: str, owner: Component, plan: ExistingClusterPlan) -> None:
        """Read the cluster from EKS, in the preview too."""
        super().__init__(name, owner)
        found = eks.get_cluster_output(name=plan.name, opts=pulumi.InvokeOptions(parent=self))
        self.name = found.name
        self.version = found.version
        self.endpoint = found.endpoint
        self.security_group_id = found.vpc_config.apply(lambda vpc: vpc.cluster_security_group_id)
        self.vpc_id = found.vpc_config.apply(lambda vpc: vpc.vpc_id)
        self.facts = found.apply(_read_facts)
        self.register_outputs({"name": self.name, "version": self.version, "endpoint": self.endpoint})


def _read_facts(found: eks.GetClusterResult) -> ClusterFacts:
    authority, network = found.certificate_authorities[0], found.kubernetes_network_configs[0]
    return ClusterFacts(
        found.name, found.endpoint, authority.data, network.service_ipv6_cidr or network.service_ipv4_cidr
    )
