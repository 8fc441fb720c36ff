"""Fargate profiles: which pods run without nodes, always on amd64."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from multiarch.schema.base import Section


class FargateSelector(Section):
    """Pods of one namespace, possibly with labels."""

    namespace: str
    """The namespace, also with wildcards, such as ``jobs-*``."""
    labels: Annotated[dict[str, str], Field(max_length=5)] = {}
    """Labels that the pods must have, also with wildcards. Default: all pods of the namespace."""


class FargateProfile(Section):
    """Pods that run on AWS Fargate. It has amd64 only, no DaemonSets, and no Pod Identity."""

    selectors: Annotated[list[FargateSelector], Field(min_length=1, max_length=5)]
    """Which pods: those that at least one selector matches."""

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether pods run on Fargate. Source: EKS user guide, "Fargate profile wildcards"."""
        return any(
            fnmatchcase(namespace, each.namespace)
            and all(
                any(fnmatchcase(key, wanted) and fnmatchcase(value, pattern) for key, value in labels.items())
                for wanted, pattern in each.labels.items()
            )
            for each in self.selectors
        )
