"""Docker's configuration: ``credHelpers``, ``credsStore`` and ``auths`` of ``config.json``.

A helper for the registry counts before the store, the store before what stands in the file, as for docker.
Source: https://docs.docker.com/reference/cli/docker/login/
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path

from multiarch.errors import MultiarchError
from multiarch.registry.credentials import helpers
from multiarch.registry.credentials.auths import HUB_KEYS, entry, place_of
from multiarch.registry.credentials.model import Credential
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.recent import Recent
from multiarch.registry.reference import DOCKER_HUB, Reference

_KEPT = 300.0
"""Seconds that a helper's answer counts: it may be a token that lives shorter than this program."""


class DockerConfigFault(MultiarchError):  # noqa: N818 (what is wrong with a file; it is raised like any error)
    """A ``config.json`` that can't be used."""

    def __init__(self, file: Path, fault: str, *, line: int | None = None) -> None:
        """``fault`` without a full stop and without a secret."""
        place = f"{file}" if line is None else f"{file}:{line}"
        super().__init__(f"{place}: {fault}.", hint="`docker login` writes that file; DOCKER_CONFIG names its folder.")
        self.file = file
        self.fault = fault


def config_file(environ: Mapping[str, str]) -> Path:
    """Where docker's configuration is: in ``DOCKER_CONFIG``, else in ``~/.docker``."""
    folder = environ.get("DOCKER_CONFIG", "")
    return (Path(folder) if folder else Path.home() / ".docker") / "config.json"


class DockerConfig:
    """The credentials that docker would use. Helpers run when they are needed, once per server and five minutes."""

    def __init__(self, file: Path, content: Mapping[str, object], environ: Mapping[str, str] | None = None) -> None:
        """Use ``load`` for a file. ``environ`` is what helpers get; by default the process's own.

        Raises:
            DockerConfigFault: a part is of another kind than docker writes.
        """
        self._file = file
        self._environ = environ
        self._helpers = _texts(file, content, "credHelpers")
        store = content.get("credsStore", "")
        if not isinstance(store, str):
            raise DockerConfigFault(file, "credsStore is no text")
        self._store = store
        self._auths = _auths(file, content)
        self._answers: Recent[tuple[str, str], tuple[float, tuple[Credential, ...]]] = Recent()
        self._locks: Recent[tuple[str, str], asyncio.Lock] = Recent()

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """What docker would use for the repository's registry; a row of ``auths`` may also name a path in it.

        Raises:
            RegistryError: CREDENTIALS, when a helper fails.
        """
        names = HUB_KEYS if reference.registry == DOCKER_HUB else (reference.registry,)
        for name in names:
            helper = self._helpers.get(name)
            if helper is not None:
                return await self._ask(helper, name, reference)
        if self._store:
            return await self._ask(self._store, names[0], reference)
        hosts = {place_of(name)[0] for name in names}
        matching = [
            (path, credential)
            for (host, path), credential in self._auths.items()
            if host in hosts and f"/{reference.repository}/".startswith(f"{path}/")
        ]
        matching.sort(key=lambda pair: len(pair[0]), reverse=True)
        return tuple(credential for _, credential in matching)

    async def _ask(self, helper: str, server: str, reference: Reference) -> tuple[Credential, ...]:
        key = helper, server
        async with self._locks.get_or_make(key, asyncio.Lock):
            until, answer = self._answers.get(key) or (0.0, ())
            if time.monotonic() < until:
                return answer
            try:
                found = await helpers.ask(helper, server, self._environ)
            except helpers.HelperError as error:
                raise RegistryError(
                    RegistryReason.CREDENTIALS,
                    f"{self._file} has them from a helper, and {error}",
                    registry=reference.registry,
                    reference=str(reference),
                    hint=f"Install the helper, log in again, or take {helper!r} out of {self._file}.",
                ) from None
            answer = () if found is None else (found,)
            self._answers.put(key, (time.monotonic() + _KEPT, answer))
            return answer


def load(file: Path, environ: Mapping[str, str] | None = None) -> DockerConfig:
    """Read a ``config.json``; one that is not there knows nothing.

    Raises:
        DockerConfigFault: it can't be read, or is no configuration.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return DockerConfig(file, {}, environ)
    except (OSError, UnicodeDecodeError) as error:
        raise DockerConfigFault(file, f"it can't be read ({getattr(error, 'strerror', None) or 'no UTF-8'})") from None
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise DockerConfigFault(file, f"it is no JSON ({error.msg})", line=error.lineno) from None
    except (ValueError, RecursionError):
        raise DockerConfigFault(file, "it is no JSON") from None
    if not isinstance(content, dict):
        raise DockerConfigFault(file, "it is no JSON object")
    return DockerConfig(file, content, environ)


def _texts(file: Path, content: Mapping[str, object], key: str) -> dict[str, str]:
    table = content.get(key) or {}
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise DockerConfigFault(file, f"{key} is no object of texts")
    return dict(table)


def _auths(file: Path, content: Mapping[str, object]) -> dict[tuple[str, str], Credential]:
    table = content.get("auths") or {}
    if not isinstance(table, Mapping):
        raise DockerConfigFault(file, "auths is no object")
    found = {}
    for key, row in table.items():
        try:
            credential = entry(row, str(file))
        except ValueError as error:
            raise DockerConfigFault(file, f"auths.{key}: {error}") from None
        if credential is not None:
            found[place_of(str(key))] = credential
    return found
