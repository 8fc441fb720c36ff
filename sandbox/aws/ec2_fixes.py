"""Where moto's EC2 differs from EC2.

Instances take their network interface and root volume with them, NAT gateways their interface; moto leaves them
behind. User data of a launch template's second version is readable like the first one's; moto stumbles over it.
Fleets are in ``fleets.py``.
"""

from __future__ import annotations

from typing import Final

from moto.core.types import Base64EncodedString
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance, InstanceBackend, InstanceState
from moto.ec2.models.launch_templates import LaunchTemplateVersion
from moto.ec2.models.nat_gateways import NatGateway, NatGatewayBackend
from moto.ec2.utils import parse_user_data

_ROOT_DEVICES: Final = ("/dev/sda1", "/dev/xvda")
_moto_terminate = InstanceBackend.terminate_instances
_moto_delete_nat_gateway = NatGatewayBackend.delete_nat_gateway


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


def install() -> None:
    """Replace moto's operations by these."""
    InstanceBackend.terminate_instances = terminate_instances  # type: ignore[method-assign, assignment]
    NatGatewayBackend.delete_nat_gateway = delete_nat_gateway  # type: ignore[method-assign, assignment]
    LaunchTemplateVersion.user_data = property(user_data)  # type: ignore[assignment]
