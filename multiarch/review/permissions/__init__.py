"""What a change permits that was not permitted before, and which settings become weaker."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.review.model import Finder
from multiarch.review.permissions import cluster, network, policies, settings

_SOURCES = (*policies.SOURCES, *cluster.SOURCES, *network.SOURCES)
FINDERS: Sequence[Finder] = (*(each.find for each in _SOURCES), settings.find_weaker_settings)
