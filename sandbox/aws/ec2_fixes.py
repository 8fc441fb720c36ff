"""Where moto's EC2 differs from EC2.

Instances take their network interface and root volume with them, NAT gateways their interface; moto leaves them
behind. User data of a launch template's second version is readable like the first one's; moto stumbles over it.
Instances of a fleet have the security groups of their launch template; moto gives them the default one. A fleet starts
the instance type with the lowest price, moto the first one: here it is the one of the first priority, because Karpenter
writes prices as priorities.
"""

from __future__ import annotations

from typing import Any, Final

from moto.core.types import Base64EncodedString
from moto.ec2.models import EC2Backend
from moto.ec2.models.fleets import Fleet, FleetsBackend
from moto.ec2.models.instances import Instance, InstanceBackend, InstanceState
from moto.ec2.models.launch_templates import LaunchTemplateVersion
from moto.ec2.models.nat_gateways import NatGateway, NatGatewayBackend
from moto.ec2.utils import parse_user_data

_ROOT_DEVICES: Final = ("/dev/sda1", "/dev/xvda")
_moto_terminate = InstanceBackend.terminate_instances
_moto_delete_nat_gateway = NatGatewayBackend.delete_nat_gateway
_moto_create_fleet = FleetsBackend.create_fleet


def terminate_instances(backend: EC2Backend, instance_ids: list[str]) -> list[tuple[Instance, InstanceState]]:
    """TerminateInstances, also deleting what the instances owned."""
    instances: list[Instance] = [backend.get_instance(instance_id) for instance_id in instance_ids]
    volumes = [
        mapping.volume_id
        for instance in instances
        for device, mapping in instance.block_device_mapping.items()
        if device in _ROOT_DEVICES and mapping.volume_id
    ]
    interfaces = [nic.id for instance in instances for nic in instance.nics.values()]
    answer = _moto_terminate(backend, instance_ids)
    for volume_id in volumes:
        backend.volumes.pop(volume_id, None)
    for interface_id in interfaces:
        backend.enis.pop(interface_id, None)
    return answer


def delete_nat_gateway(backend: EC2Backend, nat_gateway_id: str) -> NatGateway:
    """DeleteNatGateway, and the gateway's interface."""
    gateway = _moto_delete_nat_gateway(backend, nat_gateway_id)
    backend.enis.pop(gateway._eni.id, None)  # noqa: SLF001 (moto shows it nowhere else)
    return gateway


def user_data(version: LaunchTemplateVersion) -> Base64EncodedString | None:
    """The user data of a template version, whichever operation made the version."""
    value = version.data.get("UserData")
    return value if isinstance(value, Base64EncodedString) else parse_user_data(value)


def create_fleet(backend: EC2Backend, *, launch_template_configs: list[dict[str, Any]], **kwargs: Any) -> Fleet:
    """CreateFleet, the lowest priority first, and the launch template's security groups on what it started."""
    configs = _by_priority(launch_template_configs)
    fleet = _moto_create_fleet(backend, launch_template_configs=configs, **kwargs)
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


def _by_priority(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One configuration for each override, those with the lowest priority first, those without one last."""
    single = [{**config, "Overrides": [override]} for config in configs for override in config.get("Overrides") or [{}]]
    return sorted(single, key=lambda config: float(config["Overrides"][0].get("Priority", "inf")))


def install() -> None:
    """Replace moto's operations by these."""
    InstanceBackend.terminate_instances = terminate_instances  # type: ignore[method-assign, assignment]
    NatGatewayBackend.delete_nat_gateway = delete_nat_gateway  # type: ignore[method-assign, assignment]
    FleetsBackend.create_fleet = create_fleet  # type: ignore[method-assign, assignment]
    LaunchTemplateVersion.user_data = property(user_data)  # type: ignore[assignment]
