"""Auto Scaling's instance refresh, which moto lacks: all instances are replaced at once.

Upstream: Amazon EC2 Auto Scaling API reference, StartInstanceRefresh, DescribeInstanceRefreshes.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import FakeAutoScalingGroup
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.moto_api._internal import mock_random

_REFRESHES: WeakKeyDictionary[FakeAutoScalingGroup, list[dict[str, Any]]] = WeakKeyDictionary()


def start_instance_refresh(response: AutoScalingResponse) -> ActionResult:
    """StartInstanceRefresh: done when it returns."""
    group = _group(response)
    count = group.desired_capacity
    group.set_desired_capacity(0)
    group.set_desired_capacity(count)
    now = utcnow()
    refresh = {
        "InstanceRefreshId": str(mock_random.uuid4()),
        "AutoScalingGroupName": group.name,
        "Status": "Successful",
        "StartTime": now,
        "EndTime": now,
        "PercentageComplete": 100,
        "InstancesToUpdate": 0,
        "Preferences": response._get_param("Preferences", {}),  # noqa: SLF001 (an operation of that class)
    }
    _REFRESHES.setdefault(group, []).insert(0, refresh)
    return ActionResult({"InstanceRefreshId": refresh["InstanceRefreshId"]})


def describe_instance_refreshes(response: AutoScalingResponse) -> ActionResult:
    """DescribeInstanceRefreshes, newest first."""
    wanted = response._get_param("InstanceRefreshIds", [])  # noqa: SLF001 (an operation of that class)
    rows = [row for row in _REFRESHES.get(_group(response), []) if not wanted or row["InstanceRefreshId"] in wanted]
    return ActionResult({"InstanceRefreshes": rows})


def _group(response: AutoScalingResponse) -> FakeAutoScalingGroup:
    name = response._get_param("AutoScalingGroupName")  # noqa: SLF001 (an operation of that class)
    group = response.autoscaling_backend.autoscaling_groups.get(name)
    if group is None:
        raise ValidationError(f"AutoScalingGroup name not found - {name}")
    return group


def install() -> None:
    """Add both operations to moto's Auto Scaling."""
    for operation in (start_instance_refresh, describe_instance_refreshes):
        setattr(AutoScalingResponse, operation.__name__, operation)
