"""Ask the real registry through the real client, from a test that is no coroutine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import inspect_image
from multiarch.images.layers import LayerBudget
from multiarch.images.model import Inspected, Judgement, parse_platform
from multiarch.images.verdict import judge_architectures
from multiarch.images.verify import ImageVerification, verify_platform
from multiarch.registry.client import RegistryClient
from multiarch.registry.model import Registry
from multiarch.registry.reference import Reference
from multiarch.registry.settings import RegistrySettings
from tests.images.shapes import Repository

Result = TypeVar("Result")


def asked(question: Callable[[Registry], Awaitable[Result]]) -> Result:
    """What a question to a client comes to. Every call has a client and an empty cache of its own."""

    async def run() -> Result:
        async with RegistryClient(RegistrySettings(retries=0)) as client:
            return await question(client)

    return asyncio.run(run())


def reference(repository: Repository, tag: str | None = "latest", digest: str | None = None) -> Reference:
    """A reference into the repository."""
    return repository.server.reference(repository.name, tag, digest)


def inspected(repository: Repository, tag: str = "latest") -> Inspected:
    """What is behind a tag."""
    return asked(lambda registry: inspect_image(registry, reference(repository, tag)))


def judged(
    repository: Repository, tag: str = "latest", *, architectures: Sequence[Architecture] = tuple(Architecture)
) -> dict[Architecture, Judgement]:
    """The verdicts for a tag."""
    found = asked(lambda registry: judge_architectures(registry, reference(repository, tag), architectures))
    return {each.architecture: each for each in found}


def verified(
    repository: Repository, platform: str, tag: str = "latest", *, deep: bool = False, budget: LayerBudget | None = None
) -> ImageVerification:
    """What verifying a tag comes to."""
    wanted = parse_platform(platform)
    return asked(
        lambda registry: verify_platform(registry, reference(repository, tag), wanted, deep=deep, budget=budget)
    )
