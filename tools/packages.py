"""Tools out of packages of Debian and npm, which are downloaded and not installed. Standard library only."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.model import BuildError, Tool

DEBIAN_MISSING = """\
{name} is not on PATH, and apt-get can't be used to download it.
  What for: {purpose}.
  How to get it: the package {package} of your distribution."""


NPM_MISSING = """\
{name} is not built, and npm can't be used to download it: node or npm is not on PATH.
  What for: {purpose}.
  How to get it: Node.js 20 or later, https://nodejs.org, or your package manager."""

# Beside the package: npm's own links name the folder in which it was installed.
NPM_SCRIPT = """\
#!/bin/sh
here=$(dirname "$0")
exec node --import "$here/sets.mjs" "$here/{file}" "$@"
"""


# The program finds the files beside it, and the libraries and fonts that this machine lacks.
DEBIAN_SCRIPT = """\
#!/bin/sh
root=$(cd "$(dirname "$0")" && pwd)/root
for folder in {libraries}; do
  LD_LIBRARY_PATH=${{LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}}$root/$folder
done
[ -d /etc/fonts ] || export FONTCONFIG_PATH="$root/etc/fonts" XDG_DATA_HOME="$root/usr/share"
export LD_LIBRARY_PATH
exec "$root/{file}" "$@"
"""


def require(tool: Tool) -> None:
    """Raise BuildError if the programs that download ``tool`` are missing."""
    if tool.debian_file:
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise BuildError(DEBIAN_MISSING.format(name=tool.file_name, purpose=tool.purpose, package=tool.package))
    elif shutil.which("node") is None or shutil.which("npm") is None:
        raise BuildError(NPM_MISSING.format(name=tool.file_name, purpose=tool.purpose))


def unpack_debian(tool: Tool, workplace: Path, output: Path) -> None:
    """Take one file out of a Debian package, which is downloaded and not installed; and libraries out of others.

    With ``debian_root`` whole packages are kept, with all that they depend on and that this machine lacks.
    Raises BuildError.
    """
    names = (tool.package, *tool.debian_libraries)
    packages = _download(tool, names, workplace)
    root = (output if tool.debian_root else workplace) / "root"
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    target = output / tool.file_name
    if tool.debian_root:
        libraries = sorted({str(file.parent.relative_to(root)) for file in root.rglob("lib*.so*")})
        target.write_text(DEBIAN_SCRIPT.format(libraries=" ".join(libraries), file=tool.debian_file), encoding="utf-8")
    else:
        shutil.copyfile(root / tool.debian_file, target)
    target.chmod(0o755)
    for library in root.rglob("lib*.so.*") if tool.debian_libraries else ():
        shutil.copyfile(library, output / library.name, follow_symlinks=False)


def _download(tool: Tool, names: Sequence[str], workplace: Path) -> list[Path]:
    """Return downloaded Debian packages. apt checks their signatures; its lists go into ``workplace``: no root needed.

    Raises BuildError.
    """
    for folder in ("lists/partial", "cache/archives/partial"):
        (workplace / folder).mkdir(parents=True)
    places = (f"Dir::State::lists={workplace}/lists", f"Dir::Cache={workplace}/cache", "Debug::NoLocking=true")
    options = [word for place in places for word in ("-o", place)]
    what = ["--yes", "--no-install-recommends", "--download-only", "install"] if tool.debian_root else ["download"]
    # A list that can't be fetched is of no concern where another one has the packages.
    *_, done = (
        subprocess.run(["apt-get", *options, *command], cwd=workplace, capture_output=True, text=True, check=False)
        for command in (["update"], [*what, *names])
    )
    if done.returncode:
        raise BuildError(f"apt-get can't download {', '.join(names)} for {tool.file_name}:\n{done.stderr.strip()}")
    return sorted([*workplace.glob("*.deb"), *workplace.glob("cache/archives/*.deb")])


def install_npm(tool: Tool, pins: Path, workplace: Path, output: Path) -> None:
    """Install what the lock file in ``pins`` has, by its hashes, without running scripts of packages.

    Raises BuildError.
    """
    for file in pins.iterdir():
        shutil.copyfile(file, output / file.name)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", str(workplace / "npm")]
    done = subprocess.run(command, cwd=output, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode or not (output / tool.npm_file).is_file():
        raise BuildError(f"npm can't install {tool.package} for {tool.file_name}:\n{done.stderr.strip()}")
    script = output / tool.file_name
    script.write_text(NPM_SCRIPT.format(file=tool.npm_file), encoding="utf-8")
    script.chmod(0o755)
