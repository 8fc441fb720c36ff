"""Instances that take their network interface and root volume with them, as on EC2; moto leaves both behind."""

from __future__ import annotations

from typing import Any, Final

from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance, InstanceBackend

_ROOT_DEVICES: Final = ("/dev/sda1", "/dev/xvda")
_moto_terminate = InstanceBackend.terminate_instances


def terminate_instances(backend: EC2Backend, instance_ids: list[str]) -> Any:
    """TerminateInstances, then what the instances owned."""
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


def install() -> None:
    """Put :func:`terminate_instances` in the place of moto's."""
    InstanceBackend.terminate_instances = terminate_instances  # type: ignore[method-assign, assignment]
