"""The official Pulumi release, from where Pulumi's own installer (https://get.pulumi.com) takes it.

Nothing that was downloaded is run before its SHA-256 has been compared with the list that Pulumi publishes with the
release, on another host. Nothing of the user's shell is edited, and nothing is put outside this project's cache.
"""

from __future__ import annotations

import hashlib
import http.client
import platform
import shutil
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from multiarch.errors import OutsideError

# The version of the Python SDK in requirements.txt. tools/build.py says why an engine built with Go is older.
VERSION = "v3.272.0"
ARCHIVES = "https://get.pulumi.com/releases/sdk"
CHECKSUMS = "https://github.com/pulumi/pulumi/releases/download"
TIMEOUT = 5.0  # seconds to connect, and to wait for more: an unreachable host must not hold anybody up
SECONDS = 1800.0  # for all of the archive: 100 MB at half a megabit per second
ARCHIVE_LIMIT = 500 * 1024 * 1024
LIST_LIMIT = 1024 * 1024
_CHUNK = 64 * 1024
_SYSTEMS = {"linux": "linux", "darwin": "darwin"}
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def installed(cache: Path) -> Path | None:
    """Return the engine if it was installed before."""
    engine = cache / VERSION / "pulumi"
    return engine if engine.is_file() else None


def install(cache: Path, say: Callable[[str], None], *, archives: str = ARCHIVES, checksums: str = CHECKSUMS) -> Path:
    """Download, verify and unpack the release into ``cache``; return the engine.

    Raises:
        OutsideError: a host cannot be reached, there is no release for this machine, or the download is not
            what was published.
    """
    archive = _archive_name()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".installing-", dir=cache) as folder:
        workplace = Path(folder)
        listed = _published_sum(f"{checksums}/{VERSION}/pulumi-{VERSION[1:]}-checksums.txt", archive)
        say(f"downloading Pulumi {VERSION} from {archives} (about 100 MB)")
        file = workplace / archive
        digest = hashlib.sha256()
        with _open(f"{archives}/{archive}") as source, file.open("wb") as sink:
            for chunk in _chunks(source, archive, ARCHIVE_LIMIT):
                sink.write(chunk)
                digest.update(chunk)
        got = digest.hexdigest()
        if got != listed:
            raise OutsideError(f"{archive} has SHA-256 {got}, published is {listed}: it was not used.")
        unpacked = workplace / "bin"
        _unpack(file, unpacked)
        target = cache / VERSION
        shutil.rmtree(target, ignore_errors=True)
        unpacked.rename(target)
    say(f"Pulumi {VERSION} is in {target}; its SHA-256 is the published one")
    return target / "pulumi"


def _archive_name() -> str:
    system, machine = _SYSTEMS.get(sys.platform), _MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        raise OutsideError(f"Pulumi publishes no release for {sys.platform} on {platform.machine()}.")
    return f"pulumi-{VERSION}-{system}-{machine}.tar.gz"


def _open(url: str) -> http.client.HTTPResponse:
    try:
        response: http.client.HTTPResponse
        response = urllib.request.urlopen(url, timeout=TIMEOUT)  # noqa: S310 (fixed addresses, see above)
    except urllib.error.HTTPError as error:
        error.close()
        raise OutsideError(f"{url} answered {error.code}.") from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise OutsideError(f"{url} cannot be reached: {reason}") from error
    return response


def _chunks(response: http.client.HTTPResponse, what: str, limit: int) -> Iterator[bytes]:
    """The body as it comes. Raises OutsideError if it breaks off, is longer than ``limit`` bytes, or takes too long."""
    end, size = time.monotonic() + SECONDS, 0
    try:
        # Not read(): it returns only when a chunk is complete, however slowly the bytes come.
        while chunk := response.read1(_CHUNK):
            size += len(chunk)
            if size > limit:
                raise OutsideError(f"The download of {what} was stopped: it is larger than {limit} bytes.")
            if time.monotonic() > end:
                raise OutsideError(f"The download of {what} was stopped: it took more than {SECONDS:.0f} s.")
            yield chunk
    except (OSError, http.client.HTTPException) as error:
        raise OutsideError(f"The download of {what} broke off: {error}") from error
    if response.length:
        raise OutsideError(f"The download of {what} broke off: {response.length} bytes are missing.")


def _published_sum(url: str, archive: str) -> str:
    with _open(url) as response:
        lines = b"".join(_chunks(response, url, LIST_LIMIT)).decode("ascii", errors="replace").splitlines()
    for line in lines:
        digest, _, name = line.partition(" ")
        if name.strip().lstrip("*") == archive:
            return digest.lower()
    raise OutsideError(f"{url} does not list {archive}.")


def _unpack(archive: Path, folder: Path) -> None:
    """Take the programs ``pulumi/NAME`` out of the archive, and nothing else: no link, no other folder."""
    folder.mkdir()
    try:
        with tarfile.open(archive) as opened:
            for member in opened:
                place = PurePosixPath(member.name)
                content = opened.extractfile(member) if member.isreg() else None
                if content is None or place.parent != PurePosixPath("pulumi") or not place.name.startswith("pulumi"):
                    continue
                file = folder / place.name
                with file.open("wb") as sink:
                    shutil.copyfileobj(content, sink)
                file.chmod(0o755 if member.mode & 0o100 else 0o644)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise OutsideError(f"{archive.name} cannot be unpacked: {error}") from error
    if not (folder / "pulumi").is_file():
        raise OutsideError(f"{archive.name} holds no pulumi/pulumi.")
