"""ECR's credentials where a registry is one of ECR's; for others, boto3 is not loaded."""

from __future__ import annotations

from multiarch.facts.ecr import ecr_host
from multiarch.registry.credentials.model import Credential, Credentials
from multiarch.registry.reference import Reference


class LazyEcrCredentials:
    """As :class:`multiarch.registry.credentials.ecr.EcrCredentials`, which is made when it is needed."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._made: Credentials | None = None

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """The credentials for a repository in ECR. Raises RegistryError as EcrCredentials does."""
        if ecr_host(reference.registry) is None:
            return ()
        if self._made is None:
            from multiarch.registry.credentials.ecr import EcrCredentials  # noqa: PLC0415 (boto3 is large)

            self._made = EcrCredentials()
        return await self._made.for_repository(reference)
