"""EC2's fleets and spot prices, where moto's differ from EC2, and capacity that EC2 does not have.

Instances of a fleet have the security groups of their launch template; moto gives them the default one. A fleet starts
the instance type with the lowest price, moto the first one: here it is the one of the first priority, because Karpenter
writes prices as priorities. EC2 starts none where it lacks capacity, and the answer names what it tried; here it names
all that it lacks of what the request allows. moto has one spot price for all types.

Upstream: Amazon EC2 API reference, CreateFleet (type ``instant``) and DescribeSpotPriceHistory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend
from moto.ec2.models.fleets import Fleet, FleetsBackend
from moto.ec2.responses.fleets import Fleets
from moto.ec2.responses.spot_instances import SpotInstances


@dataclass(frozen=True, slots=True)
class Shortage:
    """Where EC2 has no capacity for fleets: in a zone, or of a capacity type (``spot``, ``on-demand``), or both."""

    zone: str | None = None
    capacity_type: str | None = None

    def covers(self, zone: str, capacity_type: str) -> bool:
        """Return whether an instance in ``zone`` of ``capacity_type`` can't be had."""
        return self.zone in (None, zone) and self.capacity_type in (None, capacity_type)


SHORTAGES: Final[list[Shortage]] = []
SPOT_PRICES: Final[dict[str, dict[str, str]]] = {}
"""Prices of an hour by instance type and zone; empty for moto's own."""
_ERRORS: Final[dict[str, list[dict[str, Any]]]] = {}
"""By fleet: the errors that the answer is to have."""
_CODE: Final = "InsufficientInstanceCapacity"
_moto_create_fleet = FleetsBackend.create_fleet
_moto_answer = Fleets.create_fleet
_moto_spot_prices = SpotInstances.describe_spot_price_history
_Config = dict[str, Any]


def create_fleet(
    backend: EC2Backend,
    *,
    launch_template_configs: list[_Config],
    target_capacity_specification: _Config,
    **kwargs: Any,
) -> Fleet:
    """Answer CreateFleet, the lowest priority first, and the launch template's security groups on what it started."""
    capacity_type = target_capacity_specification.get("DefaultTargetCapacityType") or "on-demand"
    had: list[_Config] = []
    lacking: list[_Config] = []
    for config in _by_priority(launch_template_configs):
        zone = _zone(backend, config["Overrides"][0])
        short = zone is not None and any(each.covers(zone, capacity_type) for each in SHORTAGES)
        (lacking if short else had).append(config)
    target = target_capacity_specification if had else {**target_capacity_specification, "TotalTargetCapacity": 0}
    fleet = _moto_create_fleet(backend, launch_template_configs=had, target_capacity_specification=target, **kwargs)
    _ERRORS[fleet.id] = [_error(config, capacity_type) for config in lacking]
    started = [(request.instance, request.launch_spec) for request in fleet.spot_requests]
    started += [(item["instance"], item["launch_spec"]) for item in fleet.on_demand_instances]
    for instance, spec in started:
        reference = spec.launch_template_spec if spec else None
        if not reference:
            continue
        template = backend.get_launch_template(reference["LaunchTemplateId"])
        data = template.get_version(reference.get("Version") or template.default_version_number).data
        interfaces = data.get("NetworkInterfaces") or [{}]
        groups = data.get("SecurityGroupIds") or interfaces[0].get("Groups")
        if groups:
            backend.modify_instance_security_groups(instance.id, groups)
    return fleet


def _by_priority(configs: list[_Config]) -> list[_Config]:
    """Return one configuration for each override, those with the lowest priority first, those without one last."""
    single = [{**config, "Overrides": [override]} for config in configs for override in config.get("Overrides") or [{}]]
    return sorted(single, key=lambda config: float(config["Overrides"][0].get("Priority", "inf")))


def _zone(backend: EC2Backend, override: Mapping[str, Any]) -> str | None:
    if "SubnetId" in override:
        return str(backend.get_subnet(override["SubnetId"]).availability_zone)
    return override.get("AvailabilityZone")


def _error(config: _Config, capacity_type: str) -> _Config:
    """Return what the answer says of an override for which there is no capacity."""
    (override,) = config["Overrides"]
    return {
        "LaunchTemplateAndOverrides": {
            "LaunchTemplateSpecification": config["LaunchTemplateSpecification"],
            "Overrides": override,
        },
        "Lifecycle": capacity_type,
        "ErrorCode": _CODE,
        "ErrorMessage": f"There is no {capacity_type} capacity for {override.get('InstanceType')}.",
    }


def answer(response: Fleets) -> ActionResult:
    """Return the answer of CreateFleet, with its errors."""
    made = _moto_answer(response)
    result: Any = made.result
    return ActionResult({**result, "Errors": _ERRORS.pop(result["FleetId"], [])})


def describe_spot_price_history(response: SpotInstances) -> ActionResult:
    """Answer DescribeSpotPriceHistory, on one page: the current prices, of the types and zones that have one."""
    found = _moto_spot_prices(response)
    if not SPOT_PRICES:
        return found
    result: Any = found.result
    rows = [
        {**row, "SpotPrice": price, "Timestamp": utcnow()}
        for row in result["SpotPriceHistory"]
        if (price := SPOT_PRICES.get(row["InstanceType"], {}).get(row["AvailabilityZone"]))
    ]
    return ActionResult({"SpotPriceHistory": rows})


def install() -> None:
    """Replace moto's operations by these."""
    FleetsBackend.create_fleet = create_fleet  # type: ignore[method-assign, assignment]
    Fleets.create_fleet = answer  # type: ignore[method-assign, assignment]
    SpotInstances.describe_spot_price_history = describe_spot_price_history  # type: ignore[method-assign, assignment]
