"""The project's wheel, built once, and unpacked where a program of another project would have it installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pulumi

from tests.quotations import ROOT

_SOURCES = ("LICENSE", "README.md", "charts", "components", "multiarch", "pyproject.toml", "setup.py")


def build(folder: Path) -> Path:
    """Build the wheel in ``folder``, from a copy of the sources, with the setuptools that are installed here."""
    copy = folder / "source"
    copy.mkdir(parents=True)
    for name in _SOURCES:
        (copy / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*command, "--wheel-dir", folder, copy], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path) -> Path:
    """A virtual environment with the wheel, and with this environment's packages beside it; return its Python."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    # As a path file, so that an editable install of the clone is not taken along.
    (site / "shared.pth").write_text(f"{Path(pulumi.__file__).parent.parent}\n", encoding="utf-8")
    python = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", str(build(folder / "wheel"))]
    subprocess.run(install, check=True, capture_output=True)
    return python


def unpacked(folder: Path) -> Path:
    """Build the wheel and unpack it, as an installer does; return the folder to put on the module path."""
    target = folder / "site-packages"
    with zipfile.ZipFile(build(folder)) as archive:
        archive.extractall(target)
    return target
