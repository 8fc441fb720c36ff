"""What user data says about a node's kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from multiarch.errors import MultiarchError


class NodeStartError(MultiarchError):
    """User data with which a node does not join its cluster, or that a reader can't follow.

    The message says what is wrong and what becomes of the node.
    """


@dataclass(frozen=True, slots=True)
class KubeletStart:
    """How a node starts its kubelet.

    ``flags`` are the arguments (``--name=value``) that user data adds to the image's own, in their order.
    ``config`` has the fields of KubeletConfiguration (``kubelet.config.k8s.io/v1beta1``) that user data determines; all
    others are the image's.
    """

    flags: tuple[str, ...]
    config: Mapping[str, Any]
