"""What the internet can reach after a change and not before."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.review.model import UNKNOWN
from multiarch.review.permissions.public_access import find
from tests.review.permissions.steps import change, said, step

CLUSTER = "aws:eks/cluster:Cluster"
SERVICE, INGRESS = "kubernetes:core/v1:Service", "kubernetes:networking.k8s.io/v1:Ingress"
BALANCER = "aws:lb/loadBalancer:LoadBalancer"
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
PRIVATE = {"endpointPublicAccess": False}


def endpoint(old: Any, new: Any) -> list[str]:  # noqa: ANN401
    before, after = (None if each is None else {"vpcConfig": each} for each in (old, new))
    return said(find(change(step(CLUSTER, "shop", before, after))))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (PRIVATE, {"endpointPublicAccess": True}, "HIGH can be reached from: 0.0.0.0/0 (everyone)"),
        (PRIVATE, {}, "HIGH can be reached from: 0.0.0.0/0 (everyone)"),
        (None, {"publicAccessCidrs": ["8.8.8.0/24"]}, "HIGH can be reached from: 8.8.8.0/24"),
        (
            {"publicAccessCidrs": ["8.8.8.0/24"]},
            {"publicAccessCidrs": ["8.8.8.0/23"]},
            "HIGH can be reached from more addresses: 8.8.9.0/24",
        ),
        (
            {"publicAccessCidrs": ["8.8.8.0/24"]},
            {},
            (
                "HIGH can be reached from more addresses: "
                "0.0.0.0/0 (everyone), of which a part is new"
            ),
        ),
        (
            {"publicAccessCidrs": ["8.8.8.0/24"]},
            {"publicAccessCidrs": UNKNOWN},
            (
                "HIGH can be reached from more addresses: "
                "addresses that are not known: publicAccessCidrs is known only after the update"
            ),
        ),
        (
            {"publicAccessCidrs": ["8.8.8.0/24"]},
            {"publicAccessCidrs": ["8.8.8.0/99"]},
            (
                "HIGH can be reached from more addresses: "
                "addresses that can't be read: '8.8.8.0/99' does not appear to be an IPv4 or IPv6 network"
            ),
        ),
        (PRIVATE, {"endpointPublicAccess": UNKNOWN},
         "HIGH can be reached from: addresses that are not known: endpointPublicAccess is known only after the update"),
        (PRIVATE, UNKNOWN,
         "HIGH can be reached from: addresses that are not known: vpcConfig is known only after the update"),
        ({}, PRIVATE, "LOW can no longer be reached from: 0.0.0.0/0 (everyone)"),
    ],
)  # fmt: skip
def test_addresses_that_reach_the_api_server_are_compared(old: Any, new: Any, expected: str) -> None:  # noqa: ANN401
    risk, text = expected.split(" ", 1)
    rule = "public-endpoint" if risk == "HIGH" else "narrow-permissions"
    assert endpoint(old, new) == [f"{risk} {rule}: EKS cluster shop {text}"]


def test_the_same_addresses_in_another_order_are_not_reported() -> None:
    old, new = ({"publicAccessCidrs": each} for each in (["8.8.8.0/25", "8.8.8.128/25"], ["8.8.8.0/24"]))
    assert endpoint(old, new) == []
    assert endpoint(PRIVATE, PRIVATE | {"endpointPrivateAccess": True}) == []


def test_a_load_balancer_that_faces_the_internet_is_reported() -> None:
    inside, outside = {"internal": True}, {"internal": False}
    text = "the load balancer faces the internet (internal: false)"
    assert said(find(change(step(BALANCER, "web", inside, outside)))) == [
        f"HIGH public-endpoint: load balancer web becomes weaker: {text}"
    ]
    assert said(find(change(step(BALANCER, "web", None, outside)))) == [
        f"MEDIUM public-endpoint: load balancer web is created weaker than it could be: {text}"
    ]
    assert said(find(change(step(BALANCER, "web", outside, inside)))) == []


def test_a_public_access_block_that_is_loosened_or_deleted_is_reported() -> None:
    blocked = {"bucket": "reports", "blockPublicPolicy": True, "restrictPublicBuckets": True}
    loose = blocked | {"restrictPublicBuckets": False}
    assert said(find(change(step(BLOCK, "reports", blocked, loose)))) == [
        (
            "HIGH public-endpoint: S3 bucket public access block reports becomes weaker: "
            "restrictPublicBuckets is false: public access to the bucket is no longer blocked"
        ),
    ]
    bucket = {"bucket": "reports", "name": "reports"}
    stays, goes = (step("aws:s3/bucket:Bucket", "reports", bucket, each) for each in (bucket, None))
    assert said(find(change(stays, step(BLOCK, "reports", blocked, None)))) == [
        (
            "HIGH public-endpoint: S3 bucket public access block reports becomes weaker: "
            "the public access block of a bucket that stays is deleted"
        ),
    ]
    assert said(find(change(goes, step(BLOCK, "reports", blocked, None)))) == []


def service(type_: str, *ranges: str, **annotations: str) -> dict[str, Any]:
    names = {name.replace("_", "-"): value for name, value in annotations.items()}
    metadata = {"annotations": {f"service.beta.kubernetes.io/{name}": value for name, value in names.items()}}
    return {"kind": "Service", "metadata": metadata, "spec": {"type": type_, "loadBalancerSourceRanges": list(ranges)}}


def test_services_and_ingresses_that_the_internet_reaches_are_reported() -> None:
    old = service("ClusterIP")
    everyone = "can be reached from: 0.0.0.0/0 (everyone), ::/0 (everyone)"

    def found(new: dict[str, Any]) -> list[str]:
        return said(find(change(step(SERVICE, "web", old, new))))

    assert found(service("LoadBalancer")) == [f"HIGH public-endpoint: Service web {everyone}"]
    assert found(service("LoadBalancer", "10.0.0.0/8")) == [
        "MEDIUM public-endpoint: Service web can be reached from: 10.0.0.0/8"
    ]
    assert found(service("LoadBalancer", aws_load_balancer_scheme="internal")) == []
    assert found(service("LoadBalancer", aws_load_balancer_internal="true")) == []
    facing = {"kind": "Ingress", "metadata": {"annotations": {"alb.ingress.kubernetes.io/scheme": "internet-facing"}}}
    assert said(find(change(step(INGRESS, "web", None, facing)))) == [f"HIGH public-endpoint: Ingress web {everyone}"]
    assert said(find(change(step(INGRESS, "web", None, {"kind": "Ingress", "metadata": {}})))) == []


def test_the_block_of_a_bucket_that_is_deleted_with_it_is_no_finding() -> None:
    bucket = step("aws:s3/bucketV2:BucketV2", "reports", {"bucket": "reports", "name": "reports"}, None)
    blocked = {"bucket": "reports", "restrictPublicBuckets": True}
    assert said(find(change(bucket, step(BLOCK, "reports", blocked, None)))) == []


def test_what_can_no_longer_be_reached_is_not_called_new() -> None:
    def cluster(cidr: str) -> dict[str, Any]:
        return {"vpcConfig": {"endpointPublicAccess": True, "publicAccessCidrs": [cidr]}}

    (found,) = said(find(change(step("aws:eks/cluster:Cluster", "c", cluster("0.0.0.0/0"), cluster("192.0.2.1/32")))))
    assert found.endswith("can no longer be reached from: a part of 0.0.0.0/0 (everyone)")
