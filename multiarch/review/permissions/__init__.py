"""What a change permits that was not permitted before, and which settings become weaker."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.review.model import Finder
from multiarch.review.permissions import cluster, network, policies, settings

FINDERS: Sequence[Finder] = (*policies.SOURCES, *cluster.SOURCES, *network.SOURCES, settings)
