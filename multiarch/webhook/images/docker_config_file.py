"""Credentials of a ``config.json`` that changes while the webhook runs: many registries' passwords last for hours."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from multiarch.registry.credentials.docker_config import DockerConfigError, load
from multiarch.registry.credentials.model import Credential
from multiarch.registry.reference import Reference

_Version = tuple[int, int, int]

_log = logging.getLogger(__name__)


class DockerConfigFile:
    """As :class:`multiarch.registry.credentials.docker_config.DockerConfig`, of the file as it is now.

    While the file is missing or invalid, what it had before is used.
    """

    def __init__(self, file: Path) -> None:
        """Read the file. Raises DockerConfigError."""
        self._file = file
        self._version = _version(file)
        self._current = load(file)

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """What docker would use for the repository's registry. Raises RegistryError as DockerConfig does."""
        # In a thread: a folder in a network may hang.
        await asyncio.to_thread(self._read_again)
        return await self._current.for_repository(reference)

    def _read_again(self) -> None:
        version = _version(self._file)
        if version is None or version == self._version:
            return
        self._version = version
        try:
            self._current = load(self._file)
        except DockerConfigError as error:
            _log.warning("%s The credentials that were read before stay in use.", error)


def _version(file: Path) -> _Version | None:
    """What differs once the file has changed; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
