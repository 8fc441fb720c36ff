"""A stack with EKS Auto Mode needs a cluster that has it."""

from __future__ import annotations

from multiarch.doctor.joined import JoinedCluster, find_obstacles
from multiarch.stack.eks_cluster import EksCluster
from multiarch.stack.origin import Origin
from tests.stack.words import AUTO_MODE, EXISTING_CLUSTER, plan


def test_a_cluster_without_auto_mode_is_an_obstacle() -> None:
    made = plan({**AUTO_MODE, **EXISTING_CLUSTER})
    zones = EXISTING_CLUSTER["cluster"]["subnets"]
    rows = {ids[0]: {"VpcId": "vpc-1", "AvailabilityZone": zone} for zone, ids in zones.items()}
    for auto_mode, rules in ((True, []), (False, [("cluster-differs", "autoscaling.use")])):
        there = EksCluster(
            name="shop-prod",
            status="ACTIVE",
            version="1.35",
            authentication_mode="API",
            ip_family="ipv4",
            vpc_id="vpc-1",
            subnet_ids=tuple(rows),
            endpoint="",
            authority="",
            pod_identity_agent=False,
            prefix_delegation=None,
            auto_mode=auto_mode,
        )
        found = find_obstacles(made, Origin(), JoinedCluster(there, rows))
        assert [(each.rule, each.key) for each in found] == rules
