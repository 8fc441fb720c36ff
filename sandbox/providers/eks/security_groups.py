"""The security groups that the component makes beside EKS's own: the cluster's and the nodes', open to one another.

Names and ports follow the real component of pulumi-eks 4; the descriptions are the sandbox's.
"""

from __future__ import annotations

from typing import Any, Final

import pulumi
import pulumi_aws as aws

from sandbox.providers.values import Value

_ANY: Final = (0, 0, "-1")
_API: Final = (443, 443, "tcp")
_KUBELET: Final = (1025, 65535, "tcp")


class SecurityGroups:
    """Declares the groups and rules under the names ``BASE-…``."""

    def __init__(self, base: str, vpc_id: Value, child: pulumi.ResourceOptions) -> None:
        """``child`` are the options of every resource: the component as parent."""
        self._base, self._vpc, self._child = base, vpc_id, child

    def cluster(self, tags: Value) -> aws.ec2.SecurityGroup:
        """The group of the control plane's interfaces; it may call out."""
        group = self._group("eksClusterSecurityGroup", tags)
        self._rule("eksClusterInternetEgressRule", group.id, "egress", _ANY, cidr_blocks=["0.0.0.0/0"])
        return group

    def nodes(self, cluster: Value, tags: Value) -> tuple[aws.ec2.SecurityGroup, aws.ec2.SecurityGroupRule]:
        """The group of nodes, and the rule by which they reach the API server."""
        group = self._group("nodeSecurityGroup", tags)
        self._rule("eksNodeIngressRule", group.id, "ingress", _ANY, self=True)
        self._rule("eksNodeClusterIngressRule", group.id, "ingress", _KUBELET, source_security_group_id=cluster)
        self._rule("eksExtApiServerClusterIngressRule", group.id, "ingress", _API, source_security_group_id=cluster)
        self._rule("eksNodeInternetEgressRule", group.id, "egress", _ANY, cidr_blocks=["0.0.0.0/0"])
        rule = self._rule("eksClusterIngressRule", cluster, "ingress", _API, source_security_group_id=group.id)
        return group, rule

    def _group(self, what: str, tags: Value) -> aws.ec2.SecurityGroup:
        return aws.ec2.SecurityGroup(
            f"{self._base}-{what}", vpc_id=self._vpc, revoke_rules_on_delete=True, tags=tags, opts=self._child
        )

    def _rule(
        self, what: str, group: Value, kind: str, ports: tuple[int, int, str], /, **source: Any
    ) -> aws.ec2.SecurityGroupRule:
        first, last, protocol = ports
        return aws.ec2.SecurityGroupRule(
            f"{self._base}-{what}",
            type=kind,
            description=what,
            from_port=first,
            to_port=last,
            protocol=protocol,
            security_group_id=group,
            opts=self._child,
            **source,
        )
