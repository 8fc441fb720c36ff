"""What goes wrong by a switch: quotas, node groups and add-ons that fail, a log group that comes back.

Without a switch nothing is limited. Upstream: Service Quotas user guide; Amazon EC2 API reference, "Error codes"
(AddressLimitExceeded, VcpuLimitExceeded, VpcLimitExceeded); Amazon EKS API reference, Issue, AddonIssue; for the log
group terraform-aws-modules/terraform-aws-eks, issues 2446 and 2486.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moto.autoscaling.models import FakeAutoScalingGroup
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.elastic_ip_addresses import ElasticAddress, ElasticAddressBackend
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.models.vpcs import VPC, VPCBackend
from moto.logs.models import LogsBackend, logs_backends
from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.responses import ServiceQuotasResponse

__all__ = ["ADDRESSES", "FAILURES", "QUOTAS", "SPOT_VCPUS", "SWITCHES", "VCPUS", "VPCS", "Failure", "empty", "install"]

VCPUS: Final = "L-1216C47A"
"""Running on-demand standard instances (A, C, D, H, I, M, R, T, Z): vCPUs, which ``QUOTAS`` counts in EC2."""
SPOT_VCPUS: Final = "L-34B43A08"
"""The same for spot requests; it can be read, and limits nothing."""
ADDRESSES: Final = "L-0263D0A3"
"""Elastic IP addresses."""
VPCS: Final = "L-F678F1CE"
"""VPCs per region; the default VPC counts."""
_NAMES: Final = {
    VCPUS: ("ec2", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"),
    SPOT_VCPUS: ("ec2", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
    ADDRESSES: ("ec2", "EC2-VPC Elastic IPs"),
    VPCS: ("vpc", "VPCs per Region"),
}
_UNLIMITED: Final = 1000.0
_STANDARD: Final = re.compile(r"(a|c|d|h|i|im|is|m|r|t|z)\d")


@dataclass(frozen=True, slots=True)
class Failure:
    """How node groups or add-ons whose name begins with ``name`` end: ``CREATE_FAILED`` or ``DEGRADED``, and why."""

    kind: str
    name: str = ""
    status: str = "CREATE_FAILED"
    code: str = "NodeCreationFailure"
    message: str = "Instances failed to join the kubernetes cluster"

    @property
    def issue(self) -> dict[str, Any]:
        """The issue as the health of a node group or an add-on has it."""
        return {"code": self.code, "message": self.message, "resourceIds": []}


QUOTAS: Final[dict[str, float]] = {}
"""Limits by quota code."""
FAILURES: Final[list[Failure]] = []
SWITCHES: Final[set[str]] = set()
"""``log-group``: EKS writes a cluster's log group once more after the cluster's end."""

_WRITTEN_AGAIN: Final[set[tuple[str, str]]] = set()
"""Log groups of clusters that ended, by region: each comes back after its next deletion."""
_moto_delete_log_group = LogsBackend.delete_log_group
_moto_launch = FakeAutoScalingGroup.replace_autoscaling_group_instances
_moto_allocate = ElasticAddressBackend.allocate_address
_moto_create_vpc = VPCBackend.create_vpc


def empty() -> None:
    """Switch everything off."""
    QUOTAS.clear()
    FAILURES.clear()
    SWITCHES.clear()
    _WRITTEN_AGAIN.clear()


def failure_of(kind: str, name: str) -> Failure | None:
    """Return how a ``nodegroup`` or an ``addon`` of this name is to end, or ``None`` if well."""
    return next((each for each in FAILURES if each.kind == kind and name.startswith(each.name)), None)


def end_cluster(account: str, region: str, cluster: str) -> None:
    """Let EKS's service-linked role write the cluster's log group once more: now, or after a deletion of the group."""
    logs, name = logs_backends[account][region], f"/aws/eks/{cluster}/cluster"
    if "log-group" in SWITCHES:
        if name in logs.groups:
            _WRITTEN_AGAIN.add((region, name))
        logs.ensure_log_group(name)


def delete_log_group(backend: LogsBackend, log_group_name: str) -> None:
    """Answer DeleteLogGroup."""
    _moto_delete_log_group(backend, log_group_name)
    if (backend.region_name, log_group_name) in _WRITTEN_AGAIN:
        _WRITTEN_AGAIN.remove((backend.region_name, log_group_name))
        backend.ensure_log_group(log_group_name)


def launch_error(group: FakeAutoScalingGroup) -> str:
    """Return why an Auto Scaling Group has fewer instances than it wants; empty if it has all."""
    return str(vars(group).get("sandbox_launch_error", ""))


def launch(group: FakeAutoScalingGroup, count_needed: int, propagated_tags: dict[str, str]) -> None:
    """Start as many on-demand instances as the vCPU quota allows; the others are a failed activity."""
    limit, kind, fits = QUOTAS.get(VCPUS), group.instance_type, count_needed
    if limit is not None and _STANDARD.match(kind) and not _is_spot(group):
        fits = max(0, min(count_needed, int((limit - _used(group.ec2_backend)) // _vcpus(kind))))
    vars(group)["sandbox_launch_error"] = _too_many(limit or 0) if fits < count_needed else ""
    if fits:
        _moto_launch(group, fits, propagated_tags)


def _is_spot(group: FakeAutoScalingGroup | None) -> bool:
    policy: Mapping[str, Any] = (group.mixed_instances_policy if group else None) or {}
    return str(policy.get("InstancesDistribution", {}).get("OnDemandPercentageAboveBaseCapacity", 100)) == "0"


def _vcpus(instance_type: str) -> int:
    return int(INSTANCE_TYPES[instance_type]["VCpuInfo"]["DefaultVCpus"])


def _used(ec2: EC2Backend) -> int:
    """Return the vCPUs of the on-demand standard instances that run."""
    return sum(
        _vcpus(instance.instance_type)
        for instance in ec2.all_instances()
        if instance.state in ("running", "pending")
        and _STANDARD.match(instance.instance_type)
        and not _is_spot(vars(instance).get("autoscaling_group"))
    )


def _too_many(limit: float) -> str:
    return (
        "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your "
        f"current vCPU limit of {limit:.0f} allows for the instance bucket that the specified instance type belongs "
        "to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit. "
        "Launching EC2 instance failed."
    )


def describe_scaling_activities(response: AutoScalingResponse) -> ActionResult:
    """Answer DescribeScalingActivities: the launch that failed last."""
    name = response._get_param("AutoScalingGroupName")  # noqa: SLF001 (an operation of that class)
    group = response.autoscaling_backend.autoscaling_groups.get(name)
    message = launch_error(group) if group else ""
    activity = {
        "ActivityId": "00000000-0000-4000-8000-000000000000",
        "AutoScalingGroupName": name,
        "Cause": "an instance was started in response to a difference between desired and actual capacity.",
        "StartTime": utcnow(),
        "StatusCode": "Failed",
        "StatusMessage": message,
        "Progress": 100,
    }
    return ActionResult({"Activities": [activity] if message else []})


def allocate_address(backend: ElasticAddressBackend, *args: Any, **kwargs: Any) -> ElasticAddress:
    """Answer AllocateAddress within the quota."""
    if len(backend.addresses) >= QUOTAS.get(ADDRESSES, _UNLIMITED):
        raise EC2ClientError("AddressLimitExceeded", "The maximum number of addresses has been reached.")
    return _moto_allocate(backend, *args, **kwargs)


def create_vpc(backend: VPCBackend, *args: Any, **kwargs: Any) -> VPC:
    """Answer CreateVpc within the quota."""
    if not kwargs.get("is_default") and len(backend.vpcs) >= QUOTAS.get(VPCS, _UNLIMITED):
        raise EC2ClientError("VpcLimitExceeded", "The maximum number of VPCs has been reached.")
    return _moto_create_vpc(backend, *args, **kwargs)


def get_service_quota(response: ServiceQuotasResponse) -> str:
    """Answer GetServiceQuota for the quotas above: 1,000 where nothing is set."""
    wanted = json.loads(response.body)
    service, name = _NAMES.get(wanted["QuotaCode"], ("", ""))
    if service != wanted["ServiceCode"]:
        raise NoSuchResource
    value = QUOTAS.get(wanted["QuotaCode"], _UNLIMITED)
    return json.dumps(
        {"Quota": {"ServiceCode": service, "QuotaCode": wanted["QuotaCode"], "QuotaName": name, "Value": value}}
    )


def install() -> None:
    """Replace moto's operations by these."""
    FakeAutoScalingGroup.replace_autoscaling_group_instances = launch  # type: ignore[method-assign, assignment]
    AutoScalingResponse.describe_scaling_activities = describe_scaling_activities  # type: ignore[method-assign, assignment]
    ElasticAddressBackend.allocate_address = allocate_address  # type: ignore[method-assign, assignment]
    LogsBackend.delete_log_group = delete_log_group  # type: ignore[method-assign, assignment]
    VPCBackend.create_vpc = create_vpc  # type: ignore[method-assign, assignment]
    ServiceQuotasResponse.get_service_quota = get_service_quota  # type: ignore[method-assign, assignment]
