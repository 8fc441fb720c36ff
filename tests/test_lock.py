"""What `make venv`, `make venv-dev` and the image install: exactly what the lock files list, each file by its hash."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.quotations import ROOT

LOCKS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-cli.lock")
}
ENTRY = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+))? \\\n(?P<hashes>(?:    --hash=\S+(?: \\)?\n)+)"
)
FOR_USERS = ("multiarch", "components", "policy", "sandbox", "provider", "__main__.py")
"""The code that runs in an environment of `make venv`."""


def locked(*names: str) -> dict[str, str]:
    return {found["name"]: found["version"] for name in names or LOCKS for found in ENTRY.finditer(LOCKS[name])}


def normalized(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
def test_every_line_belongs_to_a_package_with_its_sha256(lock: str) -> None:
    assert ENTRY.sub("", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE)) == ""
    hashes = [line for found in ENTRY.finditer(lock) for line in found["hashes"].split("\n") if line]
    assert len(hashes) > 100
    assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in hashes)


@pytest.mark.parametrize(
    ("name", "locks"),
    [
        ("requirements.txt", ["requirements.lock"]),
        ("requirements-cli.txt", ["requirements-cli.lock"]),
        ("requirements-dev.txt", LOCKS),
    ],
)
def test_a_list_s_versions_are_locked(name: str, locks: Iterable[str]) -> None:
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)(?:\[\S+\])?==([^;\s]+)", line):
            assert locked(*locks)[normalized(match[1])] == match[2], f"{match[1]}: run `make lock`"
        else:
            assert line.startswith(("#", "-r ")), line


def test_the_image_has_the_versions_that_the_tests_run_with() -> None:
    tested = locked("requirements.lock")
    assert {name: tested.get(name) for name in locked("requirements-cli.lock")} == locked("requirements-cli.lock")


def test_a_user_s_environment_has_what_the_code_imports_and_nothing_of_tests_and_documents() -> None:
    assert not locked("requirements.lock").keys() & locked("requirements-dev.lock").keys()
    provided = {
        name
        for name, packages in packages_distributions().items()
        if any(normalized(package) in locked("requirements.lock") for package in packages)
    }
    own = {Path(name).stem for name in FOR_USERS} | {"multiarch_eks", "tools"}
    standard = sys.stdlib_module_names | {"_typeshed", "compression"}  # for mypy alone; from Python 3.14 on
    assert imported_by(FOR_USERS) - provided - own - standard == set()


def imported_by(names: tuple[str, ...]) -> set[str]:
    """The top-level packages that files, or files in folders, import absolutely."""
    files = (
        file for name in names for file in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))
    )
    found = set[str]()
    for node in (node for file in files for node in ast.walk(ast.parse(file.read_bytes()))):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_the_package_is_built_with_the_locked_setuptools() -> None:
    (required,) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert required == f"setuptools=={locked()['setuptools']}"


def test_nothing_is_installed_without_its_hash() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^(?:\t@|INSTALL := )\$\(PIP\) (.*)$", makefile, re.MULTILINE) == [
        "--no-compile --require-hashes --only-binary :all:",
        "--quiet --no-deps --no-build-isolation -e .",
    ]
    assert makefile.count("pip install") == 1
