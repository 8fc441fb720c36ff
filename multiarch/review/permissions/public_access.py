"""What the internet can reach after a change and not before: API endpoints, load balancers, databases, buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.reporting import NARROW, Difference, report
from multiarch.review.permissions.sides import Resource, Sides, both, hidden
from multiarch.review.permissions.strengths import Companion, Setting, off, on, weakened
from multiarch.review.permissions.traffic import EVERYONE, Traffic, beyond, is_public, of_addresses, peers

PUBLIC = ReviewRule(
    "public-endpoint",
    Risk.HIGH,
    "an API endpoint, load balancer, database, bucket or subnet that more of the internet can reach",
    "Does it have to be reached from the internet, and from these addresses?",
)
RULES = (PUBLIC, NARROW)

_CLUSTER = "aws:eks/cluster:Cluster"
_BLOCKS = ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "aws:s3/accountPublicAccessBlock:*")
_SERVICE, _INGRESS = "kubernetes:core/v1:Service", "kubernetes:networking.k8s.io/v1:Ingress"
_SETTINGS = (
    Setting(
        PUBLIC,
        ("aws:lb/loadBalancer:LoadBalancer", "aws:alb/loadBalancer:LoadBalancer", "aws:elb/loadBalancer:LoadBalancer"),
        "internal",
        on(),
        "the load balancer faces the internet (internal: {})",
        if_new=True,
    ),
    Setting(PUBLIC, ("aws:*",), "publiclyAccessible", off, "it can be reached from the internet", if_new=True),
    Setting(PUBLIC, ("aws:ec2/subnet:Subnet",), "mapPublicIpOnLaunch", off, "instances in it get public addresses"),
    Setting(
        PUBLIC, ("aws:ec2/instance:Instance",), "associatePublicIpAddress", off, "it gets a public address", if_new=True
    ),
    Setting(
        PUBLIC,
        ("aws:ec2/launchTemplate:LaunchTemplate",),
        "networkInterfaces[].associatePublicIpAddress",
        off,
        "its instances get public addresses",
        if_new=True,
    ),
    *(
        Setting(PUBLIC, _BLOCKS, name, on(), f"{name} is {{}}: public access to the bucket is no longer blocked")
        for name in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    ),
    Setting(
        PUBLIC,
        (
            "aws:s3/bucketAclV2:BucketAclV2",
            "aws:s3/bucketAcl:BucketAcl",
            "aws:s3/bucket:Bucket",
            "aws:s3/bucketV2:BucketV2",
        ),
        "acl",
        lambda value: float(not str(value).startswith("public")),
        "its ACL is {}",
        if_new=True,
    ),
)
_COMPANIONS = (
    Companion(
        PUBLIC,
        _BLOCKS[0],
        ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2"),
        "bucket",
        "the public access block of a bucket that stays is deleted",
    ),
)
_SCHEMES = (
    "service.beta.kubernetes.io/aws-load-balancer-scheme",
    "alb.ingress.kubernetes.io/scheme",
)
_INTERNAL = "service.beta.kubernetes.io/aws-load-balancer-internal"


def find(change: Change) -> Iterator[Finding]:
    """EKS endpoints, Services and Ingresses by URN; then settings by URN."""
    effort = Effort()
    for sides in both(change, lambda type_: type_.startswith("aws:") or type_ in {_SERVICE, _INGRESS}):
        for urn in sorted(sides.touched):
            new = sides.after.get(urn)
            if new is not None and new.type in {_CLUSTER, _SERVICE, _INGRESS}:
                effort.begin()
                yield from _endpoint(sides, sides.before.get(urn), new, effort)
        yield from weakened(sides, _SETTINGS, _COMPANIONS)


def _endpoint(sides: Sides, old: Resource | None, new: Resource, effort: Effort) -> Iterator[Finding]:
    """From which addresses of the internet an endpoint can be reached."""
    try:
        before = _reachable(old) if old else []
    except ValueError:
        before = []
    try:
        after = _reachable(new)
        gained, lost = beyond(after, before, effort), beyond(before, after, effort)
        lines = [peers(gained, after)] if gained else []
        less = [peers(lost, before, lost=True)] if lost else []
    except (ValueError, TooMuchEffortError) as error:
        gained, lines, less = [], [str(error) or "too many addresses to be compared; read them"], []
    difference = Difference(
        new.subject,
        "can be reached from" if old is None or not before else "can be reached from more addresses",
        lines,
        "can no longer be reached from",
        less,
        [new.urn],
        sides.outside,
    )
    known_private = bool(gained) and not any(map(is_public, gained))
    yield from report(PUBLIC, difference, Risk.MEDIUM if known_private else None)


def _reachable(resource: Resource) -> list[Traffic]:
    """Raises ValueError with what is not known, as a sentence's end."""
    return _of_cluster(resource.inputs) if resource.type == _CLUSTER else _of_object(resource.inputs)


def _of_cluster(inputs: Mapping[str, object]) -> list[Traffic]:
    """Both defaults are open. Source: EKS API reference, VpcConfigRequest."""
    config = inputs.get("vpcConfig")
    if not isinstance(config, Mapping):
        raise _unknown("vpcConfig", config, "is not an object")
    public = config.get("endpointPublicAccess")
    if hidden(public):
        raise _unknown("endpointPublicAccess", public)
    if public is False:
        return []
    return _parsed(config.get("publicAccessCidrs") or [EVERYONE[0]], "publicAccessCidrs")


def _of_object(inputs: Mapping[str, object]) -> list[Traffic]:
    """A Service or an Ingress: where the controller's default is not known, the internet is assumed."""
    metadata, spec = inputs.get("metadata"), inputs.get("spec")
    for part in (metadata, spec):
        if isinstance(part, str):
            raise _unknown("a part of it", part, "is not an object")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    annotations = annotations if isinstance(annotations, Mapping) else {}
    spec = spec if isinstance(spec, Mapping) else {}
    is_service = inputs.get("kind", "Service") == "Service" and "type" in spec
    schemes = [annotations.get(name) for name in _SCHEMES if name in annotations]
    if is_service and spec.get("type") != "LoadBalancer" and not hidden(spec.get("type")):
        return []
    if not is_service and "internet-facing" not in schemes and not any(map(hidden, schemes)):
        return []
    if "internal" in schemes or str(annotations.get(_INTERNAL)).lower() in {"true", "0.0.0.0/0"}:
        return []
    return _parsed(spec.get("loadBalancerSourceRanges") or list(EVERYONE), "loadBalancerSourceRanges")


def _unknown(name: str, value: object, otherwise: str = "") -> ValueError:
    return ValueError(f"addresses that are not known: {name} {hidden(value) or otherwise}")


def _parsed(cidrs: object, name: str) -> list[Traffic]:
    if hidden(cidrs) or not isinstance(cidrs, list | tuple):
        raise _unknown(name, cidrs, "is not a list")
    try:
        return of_addresses([str(each) for each in cidrs])
    except ValueError as error:
        raise ValueError(f"addresses that can't be read: {error}") from None
