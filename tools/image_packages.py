"""Fill the image, in the Containerfile: install packages for another architecture, compile the bytecode.

``install LOCK FOLDER`` installs what a lock file lists, from wheels for $TARGETARCH and this Python's version, removes
what the program has no use for, and compiles the rest. ``compile FOLDER`` writes the program's start script, and
compiles all modules below FOLDER. ``record PACKAGE STATUS FOLDER`` writes what dpkg's database STATUS says of PACKAGE
to FOLDER/PACKAGE. Each gives all files below FOLDER one time: $SOURCE_DATE_EPOCH, or 0. It needs pip, and nothing else
to be installed.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
ELF_MACHINES = {"amd64": 62, "arm64": 183}
OLDEST_GLIBC, GLIBC = 5, 36  # minor versions of what wheels may need; Debian 12 has 2.36
SERVICES = (
    *("autoscaling", "ec2", "eks", "iam", "kms", "logs", "pricing", "service-quotas", "ssm"),
    *("ecr", "ecr-public", "sso", "sso-oidc", "sts"),
)
"""The AWS services that commands query, and those that give credentials: botocore describes 400 others in 20 MB."""
BOTOCORE_FILES = ("_retry.json", "endpoints.json", "partitions.json", "sdk-default-configuration.json")
NOT_RUN = ("*.pyi", "*.pyx", "*.pxd", "*.pxi", "*.c", "*.h")
"""Sources of extension modules and types."""
SCRIPT = """\
#!/usr/bin/env python3
import sys

from multiarch.cli import main

sys.exit(main())
"""


def platforms(architecture: str) -> list[str]:
    """Return the platform tags of wheels that run on the image, as options of pip."""
    tags = [f"manylinux_2_{minor}" for minor in range(GLIBC, OLDEST_GLIBC - 1, -1)] + ["manylinux2014"]
    return [word for tag in tags for word in ("--platform", f"{tag}_{MACHINES[architecture]}")]


def install(lock: Path, folder: Path, architecture: str) -> None:
    """Install what the lock file lists into an empty folder."""
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir", "--no-compile"]
    exactly = ["--require-hashes", "--no-deps", "--only-binary", ":all:", *platforms(architecture)]
    subprocess.run([*pip, *exactly, "--target", str(folder), "--requirement", str(lock)], check=True)
    before = size(folder)
    for path in list(unused(folder)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    wrong = [str(path) for path in folder.rglob("*.so*") if machine(path) != ELF_MACHINES[architecture]]
    if wrong:
        sys.exit(f"image_packages.py: not for {architecture}: {', '.join(wrong)}")
    print(f"{folder}: {before / 1e6:.1f} MB installed, {size(folder) / 1e6:.1f} MB kept")


def unused(folder: Path) -> Iterator[Path]:
    """Yield what is removed: scripts, tests, and the data of AWS services that are not queried."""
    yield folder / "bin"
    yield from (path for path in folder.rglob("*") if path.is_dir() and path.name in ("test", "tests"))
    for pattern in NOT_RUN:
        yield from (path for path in folder.rglob(pattern) if not {"test", "tests"} & set(path.parts))
    # The Kubernetes client for event loops is a second copy of all its models.
    yield from (folder / "boto3" / "data", folder / "boto3" / "examples", folder / "kubernetes" / "aio")
    kept, data = {*SERVICES, *BOTOCORE_FILES}, folder / "botocore" / "data"
    yield from (path for path in data.iterdir() if path.name not in kept)
    for service in SERVICES:
        # boto3 takes the newest version of an API; EC2 has eight.
        yield from sorted((data / service).iterdir())[:-1]


def machine(library: Path) -> int:
    """Return the ``e_machine`` of an ELF file."""
    return int.from_bytes(library.read_bytes()[18:20], "little")


def write_script(folder: Path) -> None:
    """Write the program's start script."""
    script = folder / "bin" / "multiarch"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SCRIPT, encoding="utf-8")
    script.chmod(0o755)


def compile_all(folder: Path) -> None:
    """Compile modules, set times."""
    # Not by time: the files are never written again, and are not looked at.
    mode = PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(folder, quiet=1, maxlevels=50, invalidation_mode=mode):
        sys.exit("image_packages.py: a module can't be compiled")
    set_times(folder)
    print(f"{folder}: {size(folder) / 1e6:.1f} MB with bytecode")


def set_times(folder: Path) -> None:
    """Give a folder, and all below it, one time."""
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (when, when), follow_symlinks=False)


def record(package: str, status: Path, folder: Path) -> None:
    """Write a package's paragraph of dpkg's database: scanners find the package of a program that was copied."""
    paragraphs = status.read_text(encoding="utf-8").split("\n\n")
    (found,) = (each for each in paragraphs if each.startswith(f"Package: {package}\n"))
    folder.mkdir()
    (folder / package).write_text(f"{found.rstrip()}\n", encoding="utf-8")
    set_times(folder)


def size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def main() -> None:
    """Run the command line."""
    match sys.argv[1:]:
        case ["install", lock, folder]:
            install(Path(lock), Path(folder), os.environ["TARGETARCH"])
            compile_all(Path(folder))
        case ["compile", folder]:
            write_script(Path(folder))
            compile_all(Path(folder))
        case ["record", package, status, folder]:
            record(package, Path(status), Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
