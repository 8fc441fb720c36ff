"""Shared by the EKS parts: EKS's errors, the additional state of a cluster, updates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend, ec2_backends
from moto.eks.exceptions import (
    InvalidParameterException,
    InvalidRequestException,
    ResourceInUseException,
    ResourceNotFoundException,
)
from moto.eks.models import Cluster
from moto.eks.responses import EKSResponse
from moto.moto_api._internal import mock_random

Record = dict[str, Any]


@dataclass(slots=True)
class Extras:
    """State that moto's Cluster lacks; every value has the shape of the EKS API.

    ``entries`` and ``policies`` are keyed by principal ARN, ``addons`` by name, ``pod_identities``
    by id. ``templates`` names EKS's own launch template of every node group.
    """

    addons: dict[str, Record] = field(default_factory=dict)
    entries: dict[str, Record] = field(default_factory=dict)
    policies: dict[str, dict[str, Record]] = field(default_factory=dict)
    pod_identities: dict[str, Record] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)


_EXTRAS: WeakKeyDictionary[Cluster, Extras] = WeakKeyDictionary()


def extras(cluster: Cluster) -> Extras:
    """Return the additional state of a cluster; it is deleted with moto's object, also on moto's reset."""
    return _EXTRAS.setdefault(cluster, Extras())


def invalid(message: str) -> InvalidParameterException:
    """Return InvalidParameterException (400): a value that EKS rejects."""
    return InvalidParameterException(message=message)


def rejected(message: str) -> InvalidRequestException:
    """Return InvalidRequestException (400): not possible in this state."""
    return InvalidRequestException(message=message)


def in_use(message: str) -> ResourceInUseException:
    """Return ResourceInUseException (409)."""
    return ResourceInUseException(message=message)


def not_found(message: str) -> ResourceNotFoundException:
    """Return ResourceNotFoundException (404)."""
    return ResourceNotFoundException(message=message)


def short_hash(text: str, length: int = 32) -> str:
    """Return hexadecimal digits that depend only on the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def without_none(values: Mapping[str, Any]) -> Record:
    """Return the values that are set."""
    return {key: value for key, value in values.items() if value is not None}


class EksBase(EKSResponse):
    """Parameters, look-ups and updates for every EKS operation of the sandbox."""

    params: Record

    def __init__(self) -> None:
        """Let moto parse parameters by botocore's model."""
        super().__init__()
        self.automated_parameter_parsing = True
        self.params = {}

    def get_region_from_url(self, request: Any, full_url: str) -> str:  # noqa: ANN401 (moto's)
        """Look at the address alone: a path can hold a role ``…/sso.amazonaws.com/REGION/…`` of Identity Center."""
        return super().get_region_from_url(request, "/".join(full_url.split("/", 3)[:3]))

    @property
    def ec2(self) -> EC2Backend:
        """Moto's EC2 of the request's account and region."""
        return ec2_backends[self.current_account][self.region]

    def _cluster(self) -> Cluster:
        name = self.params.get("clusterName") or self.params["name"]
        return self.eks_backend.describe_cluster(name)

    def _arn(self, kind: str, *parts: str) -> str:
        return f"arn:{self.partition}:eks:{self.region}:{self.current_account}:{kind}/" + "/".join(parts)

    @staticmethod
    def _update(kind: str, params: Mapping[str, Any]) -> ActionResult:
        """Answer with an update that is done at once."""
        update = {
            "id": str(mock_random.uuid4()),
            "status": "Successful",
            "type": kind,
            "params": [{"type": key, "value": str(value)} for key, value in params.items() if value],
            "createdAt": utcnow(),
            "errors": [],
        }
        return ActionResult({"update": update})
