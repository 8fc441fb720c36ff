"""Names of images: ``[registry/]repository[:tag][@digest]``, by the distribution project's grammar.

Source: https://github.com/distribution/reference (the grammar, and how Docker completes short names).
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import total_ordering

from multiarch.errors import MultiarchError

DOCKER_HUB = "docker.io"
DEFAULT_TAG = "latest"
REPOSITORY_LENGTH = 255
"""The longest repository, in characters, without its registry."""

_LAST_PORT = 65535
_PORT_DIGITS = 20
# Source: https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4
_HOST_LENGTH, _LABEL_LENGTH = 253, 63
_OFFICIAL = "library/"
# The name that old docker configurations have for Docker Hub.
_HUB_ALIASES = frozenset({"docker.io", "index.docker.io"})
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PART = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_HEX_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_DIGEST = re.compile(r"(?P<algorithm>[a-zA-Z][a-zA-Z0-9]*(?:[-_+.][a-zA-Z][a-zA-Z0-9]*)*):(?P<hex>[0-9a-fA-F]+)")
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


class ReferenceFault(MultiarchError):  # noqa: N818 (what is wrong with a reference; it is raised like any error)
    """A text that names no image. ``text`` is what was given, ``fault`` what is wrong with it, in words."""

    def __init__(self, text: str, fault: str, *, hint: str = "") -> None:
        """``text`` is shown quoted, and cut when it is very long."""
        shown = text if len(text) <= REPOSITORY_LENGTH else f"{text[:REPOSITORY_LENGTH]}…"
        super().__init__(f"{shown!r} is no image reference: {fault}.", hint=hint)
        self.text = text
        self.fault = fault


@total_ordering
@dataclass(frozen=True, slots=True)
class Reference:
    """An image's name, complete: at least one of ``tag`` and ``digest`` is there.

    ``registry`` is ``host`` or ``host:port`` (``docker.io`` for Docker Hub), ``digest`` is ``algorithm:hex``.
    With both, the digest says which image it is and the tag is decoration, as everywhere.
    """

    registry: str
    repository: str
    tag: str | None
    digest: str | None

    def __str__(self) -> str:
        """The canonical text: ``registry/repository:tag@digest``, with whichever is there."""
        return f"{self.registry}/{self.repository}{self._suffix}"

    def __lt__(self, other: object) -> bool:
        """Sort by registry, repository, tag and digest; what is not there comes first."""
        if not isinstance(other, Reference):
            return NotImplemented
        return self._key < other._key

    @property
    def _key(self) -> tuple[str, str, str, str]:
        return self.registry, self.repository, self.tag or "", self.digest or ""

    @property
    def _suffix(self) -> str:
        tag = "" if self.tag is None else f":{self.tag}"
        return tag if self.digest is None else f"{tag}@{self.digest}"

    @property
    def familiar(self) -> str:
        """The shortest text that means the same: ``nginx:1.27`` for ``docker.io/library/nginx:1.27``."""
        if self.registry != DOCKER_HUB:
            return str(self)
        rest = self.repository.removeprefix(_OFFICIAL)
        for short in (rest, self.repository):
            # docker.io/quay.io/x is not quay.io/x: what would be read as another image keeps its registry.
            try:
                same = parse_reference(short + self._suffix) == self
            except ReferenceFault:
                continue
            if same:
                return short + self._suffix
        return str(self)

    @property
    def name(self) -> str:
        """``registry/repository``, without tag and digest."""
        return f"{self.registry}/{self.repository}"

    def at(self, digest: str) -> Reference:
        """Name the manifest ``digest`` of the same repository."""
        return Reference(self.registry, self.repository, None, digest)


def digest_fault(digest: str) -> str | None:
    """What is wrong with a digest, in words, or None.

    Known are sha256, sha384 and sha512 with lower-case hexadecimal digits of the right number.
    Source: https://github.com/opencontainers/image-spec/blob/main/descriptor.md#digests
    """
    match = _DIGEST.fullmatch(digest)
    if match is None:
        return "a digest is written ALGORITHM:HEX, such as sha256: and 64 hexadecimal digits"
    length = _HEX_LENGTHS.get(match["algorithm"])
    if length is None:
        return f"{match['algorithm']} is no known digest algorithm (sha256, sha384, sha512)"
    if len(match["hex"]) != length:
        return f"a {match['algorithm']} digest has {length} hexadecimal digits, this one {len(match['hex'])}"
    if match["hex"] != match["hex"].lower():
        return "a digest's hexadecimal digits are lower case"
    return None


def parse_reference(text: str) -> Reference:
    """Read an image's name as Docker and Kubernetes do.

    Without a registry it is on Docker Hub (``docker.io``), there without a slash in ``library/``; with neither tag
    nor digest the tag is ``latest``.

    Raises:
        ReferenceFault: the text names no image; the error says which part is wrong.
    """
    if not text:
        raise ReferenceFault(text, "it is empty")
    if text.strip() != text or any(character.isspace() for character in text):
        raise ReferenceFault(text, "it has white space in it")
    if "://" in text:
        raise ReferenceFault(text, "a scheme has no place in it", hint=f"Write {text.partition('://')[2]}.")
    if _IDENTIFIER.fullmatch(text):
        raise ReferenceFault(text, "64 hexadecimal digits are an image's ID, not its name")
    name, at, digest = text.partition("@")
    if at and (fault := digest_fault(digest)) is not None:
        raise ReferenceFault(text, fault)
    name, tag = _split_tag(text, name)
    registry, repository = _split_registry(name)
    _check_name(text, registry, repository)
    if tag is None and not at:
        tag = DEFAULT_TAG
    return Reference(registry, repository, tag, digest if at else None)


def _split_tag(text: str, name: str) -> tuple[str, str | None]:
    head, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    if not colon:
        return name, None
    if not _TAG.fullmatch(tag):
        fault = "after the colon stands a tag: letters, digits, '_', '.' and '-', at most 128, not '.' or '-' first"
        raise ReferenceFault(text, "the tag is empty" if not tag else f"{tag!r} is no tag; {fault}")
    return f"{head}{slash}{last}", tag


def _split_registry(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    # Docker's rule: the first part is a host if it can't be anything else.
    is_host = slash and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    if not is_host:
        first, rest = DOCKER_HUB, name
    if first in _HUB_ALIASES:
        first, rest = DOCKER_HUB, rest if "/" in rest else _OFFICIAL + rest
    return first, rest


def _check_name(text: str, registry: str, repository: str) -> None:
    if not _HOST.fullmatch(registry):
        raise ReferenceFault(text, f"{registry!r} is no registry's host name (with or without :PORT)")
    _check_host(text, registry)
    if len(repository) > REPOSITORY_LENGTH:
        raise ReferenceFault(text, f"the repository has {len(repository)} characters, {REPOSITORY_LENGTH} are allowed")
    for part in repository.split("/"):
        if _PART.fullmatch(part):
            continue
        if not part:
            raise ReferenceFault(text, "a part of the repository is empty")
        if _PART.fullmatch(part.lower()):
            lower = text.replace(part, part.lower(), 1)
            raise ReferenceFault(text, f"the repository's {part!r} is not lower case", hint=f"Write {lower}.")
        allowed = "lower-case letters and digits, with '.', '_', '__' or dashes between them"
        raise ReferenceFault(text, f"{part!r} can't be part of a repository; that is {allowed}")


def _check_host(text: str, registry: str) -> None:
    """What the grammar lets through and no connection can be made to."""
    host, colon, port = registry.rpartition(":") if not registry.endswith("]") else (registry, "", "")
    if colon and (len(port) > _PORT_DIGITS or int(port) > _LAST_PORT):
        raise ReferenceFault(text, f"the port {port[:20]} is above {_LAST_PORT}")
    name = host if colon else registry
    if name.startswith("["):
        try:
            ipaddress.IPv6Address(name[1:-1])
        except ValueError as error:
            raise ReferenceFault(text, f"{name!r} is no IPv6 address") from error
    elif len(name) > _HOST_LENGTH or any(len(label) > _LABEL_LENGTH for label in name.split(".")):
        fault = f"a host name has at most {_HOST_LENGTH} characters, and {_LABEL_LENGTH} between two dots"
        raise ReferenceFault(text, fault)
