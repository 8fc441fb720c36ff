"""Docker's configuration: ``credHelpers``, ``credsStore`` and ``auths`` of ``config.json``.

A registry's own helper comes first, then the credential store, then ``auths``, as in docker.
Source: https://docs.docker.com/reference/cli/docker/login/
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from cachetools import LRUCache, TTLCache

from multiarch.errors import MultiarchError
from multiarch.files import read_text
from multiarch.registry.credentials import helpers
from multiarch.registry.credentials.auths import HUB_KEYS, auth_entries, split_key
from multiarch.registry.credentials.model import Credential
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import DOCKER_HUB, Reference
from multiarch.registry.settings import REMEMBERED

__all__ = ["DockerConfig", "load"]

_HELPER_SECONDS = 300.0
"""Seconds to keep a helper's response: it may be a short-lived token."""


class DockerConfigError(MultiarchError):
    """An invalid ``config.json``."""

    def __init__(self, file: Path, fault: str, *, line: int | None = None) -> None:
        """``fault`` has no full stop and contains no secret."""
        where = f"{file}" if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {fault}.", hint="`docker login` writes this file; DOCKER_CONFIG sets its folder.")
        self.file = file
        self.fault = fault


def config_file(environ: Mapping[str, str]) -> Path:
    """Docker's configuration file, in ``DOCKER_CONFIG`` or ``~/.docker``."""
    folder = environ.get("DOCKER_CONFIG", "")
    return (Path(folder) if folder else Path.home() / ".docker") / "config.json"


class DockerConfig:
    """The credentials that docker would use. A helper runs at most once per server in five minutes."""

    def __init__(self, file: Path, content: Mapping[str, object], environ: Mapping[str, str] | None = None) -> None:
        """Use ``load`` to read a file. ``environ`` is the helpers' environment, by default the process's own.

        Raises:
            DockerConfigError: the content is invalid.
        """
        self._file = file
        self._environ = environ
        self._helpers = _strings(file, content, "credHelpers")
        store = content.get("credsStore", "")
        if not isinstance(store, str):
            raise DockerConfigError(file, "credsStore must be a string")
        self._store = store
        try:
            self._auths = auth_entries(content, str(file))
        except ValueError as error:
            raise DockerConfigError(file, str(error)) from None
        self._known: TTLCache[tuple[str, str], tuple[Credential, ...]] = TTLCache(REMEMBERED, ttl=_HELPER_SECONDS)
        self._locks: LRUCache[tuple[str, str], asyncio.Lock] = LRUCache(REMEMBERED)

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """What docker would use for the repository's registry; a key of ``auths`` may also have a path.

        Raises:
            RegistryError: CREDENTIALS, if a helper fails.
        """
        names = HUB_KEYS if reference.registry == DOCKER_HUB else (reference.registry,)
        for name in names:
            helper = self._helpers.get(name)
            if helper is not None:
                return await self._ask(helper, name, reference)
        if self._store:
            return await self._ask(self._store, names[0], reference)
        hosts = {split_key(name)[0] for name in names}
        matching = {
            (each.host, each.path): each
            for each in self._auths
            if each.host in hosts and f"/{reference.repository}/".startswith(f"{each.path}/")
        }
        ordered = sorted(matching.values(), key=lambda each: len(each.path), reverse=True)
        return tuple(each.credential for each in ordered)

    async def _ask(self, helper: str, server: str, reference: Reference) -> tuple[Credential, ...]:
        key = helper, server
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._known.get(key)
            if known is not None:
                return known
            try:
                found = await helpers.ask(helper, server, self._environ)
            except helpers.HelperError as error:
                raise RegistryError(
                    RegistryReason.CREDENTIALS,
                    f"{self._file} uses a credential helper, but {error}",
                    registry=reference.registry,
                    reference=str(reference),
                    hint=f"Install the helper, log in again, or remove {helper!r} from {self._file}.",
                ) from None
            known = self._known[key] = () if found is None else (found,)
            return known


def load(file: Path, environ: Mapping[str, str] | None = None) -> DockerConfig:
    """Read a ``config.json``; a missing file has no credentials.

    Raises:
        DockerConfigError: it can't be read, or is invalid.
    """
    try:
        text = read_text(file)
    except FileNotFoundError:
        return DockerConfig(file, {}, environ)
    except (OSError, UnicodeDecodeError) as error:
        raise DockerConfigError(
            file, f"can't read the file ({getattr(error, 'strerror', None) or 'not UTF-8'})"
        ) from None
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise DockerConfigError(file, f"invalid JSON ({error.msg})", line=error.lineno) from None
    except (ValueError, RecursionError):
        raise DockerConfigError(file, "invalid JSON") from None
    if not isinstance(content, dict):
        raise DockerConfigError(file, "it must be a JSON object")
    return DockerConfig(file, content, environ)


def _strings(file: Path, content: Mapping[str, object], key: str) -> dict[str, str]:
    table = content.get(key) or {}
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise DockerConfigError(file, f"{key} must be an object with string values")
    return dict(table)
