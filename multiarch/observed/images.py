"""What registries say about images: one client, with its credentials, for the look-ups of a command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.images.verdict import judge_architectures, judge_image, judge_volume
from multiarch.observed.newest_tags import find_newest_tag
from multiarch.observed.verdicts import NO_IMAGE, ImageRow, ImageVerdicts, Newest
from multiarch.observed.workloads import ImageUse
from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.docker_config import find_config_file, load_docker_config
from multiarch.registry.credentials.ecr import EcrCredentials
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.model import Registry
from multiarch.registry.reference import InvalidReferenceError, Reference, parse_reference
from multiarch.registry.settings import RegistrySettings
from multiarch.threads import DaemonThreads, map_concurrently

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Takes how much is done, and how much there is."""
_AT_ONCE = 64
"""Images that are looked up at the same time. What goes to one registry at a time is the client's to bound."""
_REPOSITORIES_AT_ONCE = 32
"""Those whose tags are searched."""
_NO_IMAGE_REASON = "it has no image; a controller or webhook fills it in"
_Asked = tuple[Reference, bool]
"""An image, and whether it is mounted as a volume instead of run."""


def ignore_progress(_done: int, _all: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """How registries are read.

    ``plain_http`` are hosts that are read without TLS, ``ca_files`` are trusted besides the system's, ``mirrors`` is a
    folder of containerd's hosts.toml files, ``docker_config`` has credentials (docker's own by default), and
    ``seconds`` is the time limit of one image.
    """

    plain_http: frozenset[str] = frozenset()
    ca_files: tuple[Path, ...] = ()
    mirrors: Path | None = None
    docker_config: Path | None = None
    seconds: float | None = None


def use_registry(
    access: RegistryAccess,
    work: Callable[[Registry], Awaitable[Result]],
    *,
    credentials: Credentials | None = None,
) -> Result:
    """Run ``work`` with a registry client; return its result.

    The client tries docker's credentials, then ``credentials``, then ECR's. Raises MultiarchError for an invalid
    configuration.
    """
    usual = RegistrySettings()
    seconds = usual.total_seconds if access.seconds is None else access.seconds
    settings = RegistrySettings(
        plain_http=access.plain_http,
        ca_files=access.ca_files,
        mirrors=access.mirrors,
        total_seconds=seconds,
        connect_seconds=min(seconds, usual.connect_seconds),
        read_seconds=min(seconds, usual.read_seconds),
    )
    own = load_docker_config(access.docker_config or find_config_file(os.environ))
    chain = (own, *([] if credentials is None else [credentials]), EcrCredentials())

    async def run() -> Result:
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        async with RegistryClient(settings, chain) as client:
            return await work(client)

    return asyncio.run(run())


def look_up(
    uses: Iterable[ImageUse],
    architectures: Iterable[Architecture],
    access: RegistryAccess,
    *,
    credentials: Credentials | None = None,
    progress: Progress = ignore_progress,
) -> ImageVerdicts:
    """Judge every image once, also if many containers use it or it is written in several ways.

    ``progress(done, all)`` is called after each look-up. An image that can't be judged is ``unknown`` with the reason;
    nothing is raised for one. Raises MultiarchError as :func:`use_registry` does.
    """
    wanted, both = tuple(uses), tuple(architectures)
    if not wanted:
        return ImageVerdicts(both, ())
    return use_registry(
        access, lambda registry: judge_uses(registry, wanted, both, progress=progress), credentials=credentials
    )


def look_up_newest_tags(
    images: Iterable[str],
    architecture: Architecture,
    access: RegistryAccess,
    *,
    look_ups: int,
    credentials: Credentials | None = None,
) -> dict[str, Newest]:
    """Find the newest tag with the architecture for each of the images, which are valid references."""
    references = {image: parse_reference(image) for image in images}
    if not references:
        return {}
    found = use_registry(
        access,
        lambda registry: map_concurrently(
            references.values(),
            lambda each: find_newest_tag(registry, each, architecture, look_ups=look_ups),
            _REPOSITORIES_AT_ONCE,
        ),
        credentials=credentials,
    )
    return {image: found[reference] for image, reference in references.items()}


async def judge_uses(
    registry: Registry,
    uses: Iterable[ImageUse],
    architectures: tuple[Architecture, ...],
    *,
    progress: Progress = ignore_progress,
) -> ImageVerdicts:
    """Judge as :func:`look_up` does, with a client that is open."""
    asked: dict[tuple[str, str, bool], list[ImageUse]] = {}
    for use in uses:
        asked.setdefault(use.question, []).append(use)
    parsed = {each: _parse(*each) for each in asked}
    wanted = sorted({found for found in parsed.values() if not isinstance(found, str)}, key=str)

    def judged_of(pair: _Asked) -> Awaitable[tuple[Judgement, ...]]:
        return judge_architectures(registry, pair[0], architectures, judge_volume if pair[1] else judge_image)

    judged = await map_concurrently(wanted, judged_of, _AT_ONCE, progress)
    rows: dict[tuple[str, tuple[Judgement, ...]], list[ImageUse]] = {}
    for each, users in asked.items():
        found = parsed[each]
        unknown = tuple(Judgement(kind, Verdict.UNKNOWN, str(found), None) for kind in architectures)
        judgements = unknown if isinstance(found, str) else judged[found]
        rows.setdefault((each[0] or NO_IMAGE, judgements), []).extend(users)
    made = (ImageRow(image, judgements, tuple(users)) for (image, judgements), users in rows.items())
    return ImageVerdicts(architectures, tuple(sorted(made, key=lambda row: (row.image, row.uses[0].question))))


def _parse(image: str, fault: str, mounted: bool) -> _Asked | str:  # noqa: FBT001 # the parts of ImageUse.question
    """Return what to look up, or what is wrong with the image."""
    if fault or not image:
        return fault or _NO_IMAGE_REASON
    try:
        return parse_reference(image), mounted
    except InvalidReferenceError as error:
        return str(error)
