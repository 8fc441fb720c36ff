"""Where moto's EC2 and Auto Scaling differ from AWS's.

Instances take their network interface and root volume with them, NAT gateways their interface; moto leaves them behind.
User data of a launch template's second version is readable like the first one's, and a template's own tags are not
those of what it launches. A console has the output that it was given, and none by default; moto has the same sample for
all. Of a share of on-demand instances moto loses fractions, and with them an instance. An instance refresh, which moto
lacks, replaces all instances at once. An update of a group that names no template keeps the one that is there. Fleets
are in ``fleets.py``.

Upstream: Amazon EC2 API reference, GetConsoleOutput; Amazon EC2 Auto Scaling API reference, StartInstanceRefresh.
"""

from __future__ import annotations

from typing import Any, Final

from moto.autoscaling.models import FakeAutoScalingGroup
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult
from moto.core.types import Base64EncodedString
from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance, InstanceBackend, InstanceState
from moto.ec2.models.launch_templates import LaunchTemplate, LaunchTemplateVersion
from moto.ec2.models.nat_gateways import NatGateway, NatGatewayBackend
from moto.ec2.responses.general import General
from moto.ec2.utils import parse_user_data
from moto.moto_api._internal import mock_random

CONSOLES: Final[dict[str, str]] = {}
"""The console output of an instance, by its ID."""
_ROOT_DEVICES: Final = ("/dev/sda1", "/dev/xvda")
_moto_terminate = InstanceBackend.terminate_instances
_moto_update_group = FakeAutoScalingGroup.update
_moto_set_desired = FakeAutoScalingGroup.set_desired_capacity
_moto_create_version = LaunchTemplate.create_version
_moto_delete_nat_gateway = NatGatewayBackend.delete_nat_gateway


def terminate_instances(backend: EC2Backend, instance_ids: list[str]) -> list[tuple[Instance, InstanceState]]:
    """Answer TerminateInstances, also deleting what the instances owned."""
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
    """Answer DeleteNatGateway, and the gateway's interface."""
    gateway = _moto_delete_nat_gateway(backend, nat_gateway_id)
    backend.enis.pop(gateway._eni.id, None)  # noqa: SLF001 (moto shows it nowhere else)
    return gateway


def create_version(template: LaunchTemplate, data: dict[str, Any], description: str) -> LaunchTemplateVersion:
    """Return a new version of a template, whose own tags moto puts among those of what it launches."""
    launched = [spec for spec in data.get("TagSpecifications", []) if spec["ResourceType"] != "launch-template"]
    rest = {key: value for key, value in data.items() if key != "TagSpecifications"}
    if launched:
        rest["TagSpecifications"] = launched
    return _moto_create_version(template, rest, description)


def user_data(version: LaunchTemplateVersion) -> Base64EncodedString | None:
    """Return the user data of a template version, whichever operation made the version."""
    value = version.data.get("UserData")
    return value if isinstance(value, Base64EncodedString) else parse_user_data(value)


def get_console_output(response: General) -> ActionResult:
    """Answer GetConsoleOutput."""
    instance = response.ec2_backend.get_instance(response._get_param("InstanceId"))  # noqa: SLF001 (an operation of that class)
    answer: dict[str, Any] = {"InstanceId": instance.id, "Timestamp": utcnow()}
    if instance.id in CONSOLES:
        answer["Output"] = Base64EncodedString.from_raw_string(CONSOLES[instance.id])
    return ActionResult(answer)


def start_instance_refresh(response: AutoScalingResponse) -> ActionResult:
    """Answer StartInstanceRefresh: done when it returns."""
    name = response._get_param("AutoScalingGroupName")  # noqa: SLF001 (an operation of that class)
    group = response.autoscaling_backend.autoscaling_groups[name]
    count = group.desired_capacity
    group.set_desired_capacity(0)
    group.set_desired_capacity(count)
    return ActionResult({"InstanceRefreshId": str(mock_random.uuid4())})


def update_group(group: FakeAutoScalingGroup, **values: Any) -> None:
    """Update a group, which keeps its mixed instances policy unless there is another one."""
    before = group.mixed_instances_policy
    _moto_update_group(group, **values)
    if not any(values.get(key) for key in ("launch_config_name", "launch_template", "mixed_instances_policy")):
        group.mixed_instances_policy = before


def set_desired_capacity(group: FakeAutoScalingGroup, new_capacity: int | None) -> None:
    """Start or end instances of a group; of a mixed one all count as on-demand here."""
    policy = group.mixed_instances_policy
    share = str((policy or {}).get("InstancesDistribution", {}).get("OnDemandPercentageAboveBaseCapacity", "0"))
    if policy and share not in {"0", "100"}:
        whole = {**policy["InstancesDistribution"], "OnDemandPercentageAboveBaseCapacity": "100"}
        group.mixed_instances_policy = {**policy, "InstancesDistribution": whole}
    _moto_set_desired(group, new_capacity)
    group.mixed_instances_policy = policy


def install() -> None:
    """Replace moto's operations by these."""
    InstanceBackend.terminate_instances = terminate_instances  # type: ignore[method-assign, assignment]
    NatGatewayBackend.delete_nat_gateway = delete_nat_gateway  # type: ignore[method-assign, assignment]
    # Tags as they are, which moto copies once.
    LaunchTemplate.tags = property(LaunchTemplate.get_tags, lambda _template, _tags: None)  # type: ignore[assignment]
    FakeAutoScalingGroup.update = update_group  # type: ignore[method-assign, assignment]
    FakeAutoScalingGroup.set_desired_capacity = set_desired_capacity  # type: ignore[method-assign, assignment]
    LaunchTemplate.create_version = create_version  # type: ignore[method-assign, assignment]
    LaunchTemplateVersion.user_data = property(user_data)  # type: ignore[assignment]
    General.get_console_output = get_console_output  # type: ignore[method-assign, assignment]
    AutoScalingResponse.start_instance_refresh = start_instance_refresh  # type: ignore[attr-defined]
