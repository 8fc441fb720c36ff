"""Docker's configuration: ``credHelpers``, ``credsStore`` and ``auths`` of ``config.json``.

A registry's own helper comes first, then the credential store, then ``auths``, as in docker.
Source: https://docs.docker.com/reference/cli/docker/login/
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

from cachetools import LRUCache, TTLCache

from multiarch.errors import MultiarchError
from multiarch.files import find_home, read_bytes
from multiarch.registry.credentials import helpers
from multiarch.registry.credentials.auths import read_auths
from multiarch.registry.credentials.model import Credential
from multiarch.registry.decoding import decode_json
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import DOCKER_HUB, Reference
from multiarch.registry.settings import REMEMBERED

__all__ = ["DockerConfig", "load_docker_config"]

HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")
"""Docker Hub's keys in configurations; ``docker login`` writes the first."""

_HELPER_SECONDS = 300.0
"""Seconds to keep a helper's response: it may be a short-lived token."""
_log = logging.getLogger(__name__)


class DockerConfigError(MultiarchError):
    """An invalid ``config.json``."""

    def __init__(self, file: Path, fault: str) -> None:
        """``fault`` has no full stop and contains no secret."""
        super().__init__(f"{file}: {fault}.", hint="`docker login` writes this file; DOCKER_CONFIG sets its folder.")


def find_config_file(environ: Mapping[str, str]) -> Path:
    """Return the path of Docker's configuration, in ``DOCKER_CONFIG`` or ``~/.docker``; ``.docker`` without a home."""
    folder = environ.get("DOCKER_CONFIG", "")
    return (Path(folder) if folder else (find_home() or Path()) / ".docker") / "config.json"


class DockerConfig:
    """The credentials that docker would use. A helper runs at most once per server in five minutes.

    A file is read again when it has changed: many registries' passwords last for hours. While it is missing or invalid,
    what it had before is used.
    """

    def __init__(self, file: Path, content: Mapping[str, object], written: bytes | None = None) -> None:
        """Use ``load`` to read a file; ``written`` is what was read of it, None if it is not read again.

        Raises:
            DockerConfigError: the content is invalid.
        """
        self._file = file
        self._written = written
        self._take(content)
        self._known: TTLCache[tuple[str, str], tuple[Credential, ...]] = TTLCache(REMEMBERED, ttl=_HELPER_SECONDS)
        self._locks: LRUCache[tuple[str, str], asyncio.Lock] = LRUCache(REMEMBERED)

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """Return what docker would use for the repository's registry; a key of ``auths`` may also have a path.

        Raises:
            RegistryError: CREDENTIALS, if a helper fails.
        """
        if self._written is not None:
            # In a thread: a folder in a network may hang.
            await asyncio.to_thread(self._read_again)
        names = HUB_KEYS if reference.registry == DOCKER_HUB else (reference.registry,)
        for name in names:
            if name in self._helpers:
                helper, server = self._helpers[name], name
                break
        else:
            helper, server = self._store, names[0]
        if helper:
            return await self._ask(helper, server, reference)
        hosts = {_split_key(name)[0] for name in names}
        matching = [
            (path, credential)
            for (host, path), credential in self._auths.items()
            if host in hosts and f"/{reference.repository}/".startswith(f"{path}/")
        ]
        return tuple(each for _, each in sorted(matching, key=lambda pair: len(pair[0]), reverse=True))

    def _take(self, content: Mapping[str, object]) -> None:
        helpers, store = _strings(self._file, content, "credHelpers"), content.get("credsStore")
        if not isinstance(store, str | None):
            raise DockerConfigError(self._file, "credsStore must be a string")
        try:
            auths = {_split_key(key): credential for key, credential in read_auths(content, str(self._file))}
        except ValueError as error:
            raise DockerConfigError(self._file, str(error)) from None
        self._helpers, self._store, self._auths = helpers, store or "", auths

    def _read_again(self) -> None:
        try:
            written = read_bytes(self._file)
        except OSError:
            return
        if written in (b"", self._written):  # empty while it is written
            return
        self._written = written
        try:
            self._take(_parsed(self._file, written))
        except DockerConfigError as error:
            _log.warning("%s The credentials that were read before stay in use.", error)

    async def _ask(self, helper: str, server: str, reference: Reference) -> tuple[Credential, ...]:
        key = helper, server
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._known.get(key)
            if known is not None:
                return known
            try:
                found = await helpers.query_helper(helper, server)
            except helpers.HelperError as error:
                raise RegistryError(
                    RegistryReason.CREDENTIALS,
                    f"{self._file} uses a credential helper, but {error}",
                    reference,
                    f"Install the helper, log in again, or remove {helper!r} from {self._file}.",
                ) from None
            known = self._known[key] = () if found is None else (found,)
            return known


def load_docker_config(file: Path) -> DockerConfig:
    """Read a ``config.json``; a missing file has no credentials.

    Raises:
        DockerConfigError: it can't be read, or is invalid.
    """
    try:
        written = read_bytes(file)
    except FileNotFoundError:
        written = b"{}"
    except OSError as error:
        raise DockerConfigError(file, f"can't read the file ({error.strerror or error})") from None
    # A pipe is read once.
    again = written if file.is_file() or not file.exists() else None
    return DockerConfig(file, _parsed(file, written), again)


def _parsed(file: Path, written: bytes) -> Mapping[str, object]:
    try:
        content = decode_json(written.decode())
    except UnicodeDecodeError:
        raise DockerConfigError(file, "can't read the file (not UTF-8)") from None
    except ValueError as error:
        raise DockerConfigError(file, f"invalid JSON ({error})") from None
    if not isinstance(content, dict):
        raise DockerConfigError(file, "it must be a JSON object")
    return content


def _split_key(key: str) -> tuple[str, str]:
    """Return the host and path of a key: ``https://index.docker.io/v1/`` is ``index.docker.io`` and an empty path.

    The scheme is ignored, and so are ``/v1`` and ``/v2``.
    """
    text = key.partition("://")[2] or key
    host, slash, path = text.partition("/")
    path = slash + path
    for version in ("/v1", "/v2"):
        if path == version or path.startswith(f"{version}/"):
            path = path[len(version) :]
    return host, path.rstrip("/")


def _strings(file: Path, content: Mapping[str, object], key: str) -> dict[str, str]:
    """Return a table; null counts as an empty one, and as an empty string. A host's empty helper means ``auths``."""
    table = content.get(key) or {}
    if not isinstance(table, Mapping) or not all(isinstance(value, str | None) for value in table.values()):
        raise DockerConfigError(file, f"{key} must be an object with string values")
    return {name: value or "" for name, value in table.items()}
