"""Image references: ``[registry/]repository[:tag][@digest]``, by the distribution project's grammar.

Source: https://github.com/distribution/reference (the grammar and the normalisation of short names).
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from multiarch.errors import MultiarchError

__all__ = ["Reference", "parse_reference"]

DOCKER_HUB = "docker.io"
DEFAULT_TAG = "latest"
REPOSITORY_LENGTH = 255
"""The most characters of a repository, without its registry."""

_LAST_PORT = 65535
_OFFICIAL = "library/"
# What old Docker configurations call Docker Hub.
_HUB_ALIASES = frozenset({"docker.io", "index.docker.io"})
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PORT = re.compile(r":[0-9]+\Z")
_PART = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_HEX_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_DIGEST = re.compile(r"(?P<algorithm>[a-zA-Z][a-zA-Z0-9]*(?:[-_+.][a-zA-Z][a-zA-Z0-9]*)*):(?P<hex>[0-9a-fA-F]+)")
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


class InvalidReferenceError(MultiarchError):
    """An invalid image reference: ``text`` as given, and its ``fault``."""

    def __init__(self, text: str, fault: str, *, hint: str = "") -> None:
        """``text`` is shown quoted, and cut if it is very long."""
        shown = text if len(text) <= REPOSITORY_LENGTH else f"{text[:REPOSITORY_LENGTH]}…"
        super().__init__(f"invalid image reference {shown!r}: {fault}.", hint=hint)
        self.text = text
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Reference:
    """A complete image reference, with a ``tag``, a ``digest`` or both.

    ``registry`` is ``host`` or ``host:port`` (``docker.io`` for Docker Hub), ``digest`` is ``algorithm:hex``.
    With both, the digest counts, and the tag is informative.
    """

    registry: str
    repository: str
    tag: str | None
    digest: str | None

    def __str__(self) -> str:
        """The canonical text: ``registry/repository:tag@digest``, with what is set."""
        return f"{self.registry}/{self.repository}{self._suffix}"

    @property
    def _suffix(self) -> str:
        tag = "" if self.tag is None else f":{self.tag}"
        return tag if self.digest is None else f"{tag}@{self.digest}"

    @property
    def familiar(self) -> str:
        """The shortest equivalent text: ``nginx:1.27`` for ``docker.io/library/nginx:1.27``."""
        if self.registry != DOCKER_HUB:
            return str(self)
        rest = self.repository.removeprefix(_OFFICIAL)
        for short in (rest, self.repository):
            # docker.io/quay.io/x is not quay.io/x: keep the registry where the short form means another image.
            try:
                same = parse_reference(short + self._suffix) == self
            except InvalidReferenceError:
                continue
            if same:
                return short + self._suffix
        return str(self)

    @property
    def name(self) -> str:
        """``registry/repository``, without tag and digest."""
        return f"{self.registry}/{self.repository}"

    def at(self, digest: str) -> Reference:
        """Return the reference of ``digest`` in the same repository."""
        return Reference(self.registry, self.repository, None, digest)


def check_digest(digest: str) -> str | None:
    """Return what is wrong with a digest, or None.

    Valid are sha256, sha384 and sha512 with the right number of lower-case hexadecimal digits.
    Source: https://github.com/opencontainers/image-spec/blob/main/descriptor.md#digests
    """
    match = _DIGEST.fullmatch(digest)
    if match is None:
        return "a digest has the form ALGORITHM:HEX, such as sha256: and 64 hexadecimal digits"
    length = _HEX_LENGTHS.get(match["algorithm"])
    if length is None:
        return f"unknown digest algorithm {match['algorithm']} (use sha256, sha384 or sha512)"
    if len(match["hex"]) != length:
        return f"a {match['algorithm']} digest has {length} hexadecimal digits, this one has {len(match['hex'])}"
    if match["hex"] != match["hex"].lower():
        return "hexadecimal digits of a digest must be lower case"
    return None


def is_tag(text: str) -> bool:
    """Return whether ``text`` is a valid tag: at most 128 letters, digits, ``_``, ``.`` and ``-``."""
    return _TAG.fullmatch(text) is not None


def parse_reference(text: str) -> Reference:
    """Parse an image reference as Docker and Kubernetes do.

    The default registry is Docker Hub (``docker.io``), where a name without a slash is in ``library/``; the default
    tag is ``latest`` if there is no digest.

    Raises:
        InvalidReferenceError: the text is not a reference; the error says which part is wrong.
    """
    if not text:
        raise InvalidReferenceError(text, "it is empty")
    if text.strip() != text or any(character.isspace() for character in text):
        raise InvalidReferenceError(text, "it contains white space")
    if "://" in text:
        raise InvalidReferenceError(text, "it must not have a scheme", hint=f"Write {text.partition('://')[2]}.")
    if _IDENTIFIER.fullmatch(text):
        raise InvalidReferenceError(text, "64 hexadecimal digits are an image ID, not a name")
    name, at, digest = text.partition("@")
    if at and (fault := check_digest(digest)) is not None:
        raise InvalidReferenceError(text, fault)
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
    if not is_tag(tag):
        fault = "a tag has at most 128 letters, digits, '_', '.' and '-', and does not start with '.' or '-'"
        raise InvalidReferenceError(text, "the tag is empty" if not tag else f"invalid tag {tag!r}; {fault}")
    return f"{head}{slash}{last}", tag


def _split_registry(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    # Docker's rule: the first part is a host if it can't be part of a repository.
    is_host = slash and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    if not is_host:
        first, rest = DOCKER_HUB, name
    if first in _HUB_ALIASES:
        first, rest = DOCKER_HUB, rest if "/" in rest else _OFFICIAL + rest
    return first, rest


def _check_name(text: str, registry: str, repository: str) -> None:
    if not _HOST.fullmatch(registry):
        raise InvalidReferenceError(text, f"invalid registry host {registry!r} (HOST or HOST:PORT)")
    port = (_PORT.search(registry) or ("",))[0].lstrip(":0")
    if len(port) > len(str(_LAST_PORT)) or int(port or 0) > _LAST_PORT:
        raise InvalidReferenceError(text, f"port {port[:20]} is above {_LAST_PORT}")
    if registry.startswith("["):
        name = registry[: registry.index("]") + 1]
        try:
            ipaddress.IPv6Address(name[1:-1])
        except ValueError as error:
            raise InvalidReferenceError(text, f"invalid IPv6 address {name!r}") from error
    if len(repository) > REPOSITORY_LENGTH:
        raise InvalidReferenceError(
            text, f"the repository has {len(repository)} characters; the limit is {REPOSITORY_LENGTH}"
        )
    for part in repository.split("/"):
        if _PART.fullmatch(part):
            continue
        if not part:
            raise InvalidReferenceError(text, "a part of the repository is empty")
        if _PART.fullmatch(part.lower()):
            lower = text.replace(part, part.lower(), 1)
            raise InvalidReferenceError(text, f"{part!r} in the repository must be lower case", hint=f"Write {lower}.")
        allowed = "use lower-case letters and digits, with '.', '_', '__' or dashes between them"
        raise InvalidReferenceError(text, f"invalid part {part!r} in the repository; {allowed}")
