"""What goes wrong by a switch: node groups, releases and charts that fail, and the quotas that can be read.

Upstream: Service Quotas user guide; Amazon EKS API reference, Issue.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.responses import ServiceQuotasResponse

VCPUS: Final = "L-1216C47A"
"""vCPUs of running on-demand standard instances (A, C, D, H, I, M, R, T, Z)."""
SPOT_VCPUS: Final = "L-34B43A08"
"""The same for spot requests."""
ADDRESSES: Final = "L-0263D0A3"
"""Elastic IP addresses."""
VPCS: Final = "L-F678F1CE"
"""VPCs per region."""
_NAMES: Final = {
    VCPUS: ("ec2", "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"),
    SPOT_VCPUS: ("ec2", "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
    ADDRESSES: ("ec2", "EC2-VPC Elastic IPs"),
    VPCS: ("vpc", "VPCs per Region"),
}
_DEFAULT: Final = 1000.0


@dataclass(frozen=True, slots=True)
class Failure:
    """What fails, by its kind and the beginning of its name.

    A ``nodegroup`` ends CREATE_FAILED; ``release`` and ``chart`` are for ``sandbox/providers/kubernetes/faults.py``.
    """

    kind: str
    name: str = ""


QUOTAS: Final[dict[str, float]] = {}
"""What GetServiceQuota answers, by quota code. Nothing is limited by them."""
FAILURES: Final[list[Failure]] = []


def empty() -> None:
    """Switch everything off."""
    QUOTAS.clear()
    FAILURES.clear()


def fails_group(name: str) -> bool:
    """Return whether a node group of this name is to fail."""
    return any(each.kind == "nodegroup" and name.startswith(each.name) for each in FAILURES)


def get_service_quota(response: ServiceQuotasResponse) -> str:
    """Answer GetServiceQuota for the quotas above: 1,000 where nothing is set."""
    wanted = json.loads(response.body)
    service, name = _NAMES.get(wanted["QuotaCode"], ("", ""))
    if service != wanted["ServiceCode"]:
        raise NoSuchResource
    value = QUOTAS.get(wanted["QuotaCode"], _DEFAULT)
    quota: dict[str, Any] = {"ServiceCode": service, "QuotaCode": wanted["QuotaCode"], "QuotaName": name}
    return json.dumps({"Quota": {**quota, "Value": value}})


def install() -> None:
    """Replace moto's operation by this."""
    ServiceQuotasResponse.get_service_quota = get_service_quota  # type: ignore[method-assign, assignment]
