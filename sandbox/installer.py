"""The official Pulumi release, from where Pulumi's own installer (https://get.pulumi.com) takes it.

Nothing that was downloaded is run before its SHA-256 has been compared with the list that Pulumi publishes with the
release, on another host. Nothing of the user's shell is edited, and nothing is put outside this project's cache.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import platform
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from multiarch.errors import OutsideError

# The version of the Python SDK in requirements.txt. tools/build.py says why an engine built with Go is older.
VERSION = "v3.272.0"
ARCHIVES = "https://get.pulumi.com/releases/sdk"
CHECKSUMS = "https://github.com/pulumi/pulumi/releases/download"
TIMEOUT = 5.0  # seconds to connect, and to wait for more: an unreachable host must not hold anybody up
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
    listed = _published_sum(f"{checksums}/{VERSION}/pulumi-{VERSION[1:]}-checksums.txt", archive)
    say(f"downloading Pulumi {VERSION} from {archives} (about 100 MB)")
    content = _download(f"{archives}/{archive}")
    got = hashlib.sha256(content).hexdigest()
    if got != listed:
        raise OutsideError(f"{archive} has SHA-256 {got}, published is {listed}: it was not used.")
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / VERSION
    with tempfile.TemporaryDirectory(prefix=".installing-", dir=cache) as folder:
        with tarfile.open(fileobj=io.BytesIO(content)) as opened:
            opened.extractall(folder, filter="data")
        Path(folder, "pulumi").rename(target)
    say(f"Pulumi {VERSION} is in {target}; its SHA-256 is the published one")
    return target / "pulumi"


def _archive_name() -> str:
    system, machine = _SYSTEMS.get(sys.platform), _MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        raise OutsideError(f"Pulumi publishes no release for {sys.platform} on {platform.machine()}.")
    return f"pulumi-{VERSION}-{system}-{machine}.tar.gz"


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response:  # noqa: S310 (fixed addresses, see above)
            content: bytes = response.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise OutsideError(f"{url} answered {error.code}.") from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise OutsideError(f"{url} cannot be reached: {reason}") from error
    return content


def _published_sum(url: str, archive: str) -> str:
    for line in _download(url).decode("ascii", errors="replace").splitlines():
        digest, _, name = line.partition(" ")
        if name.strip().lstrip("*") == archive:
            return digest.lower()
    raise OutsideError(f"{url} does not list {archive}.")
