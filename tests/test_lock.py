"""What `make venv` installs: exactly what requirements.lock lists, each file by its hash."""

from __future__ import annotations

import re
import tomllib

from tests.quotations import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
ENTRY = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+))? \\\n(?P<hashes>(?:    --hash=\S+(?: \\)?\n)+)"
)


def locked() -> dict[str, str]:
    return {found["name"]: found["version"] for found in ENTRY.finditer(LOCK)}


def test_every_line_belongs_to_a_package_with_its_sha256() -> None:
    assert ENTRY.sub("", re.sub(r"^#.*\n", "", LOCK, flags=re.MULTILINE)) == ""
    hashes = [line for found in ENTRY.finditer(LOCK) for line in found["hashes"].split("\n") if line]
    assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in hashes)
    assert len(locked()) > 100


def test_it_names_no_place_to_download_from() -> None:
    assert "://" not in LOCK
    assert "--index-url" not in LOCK
    assert "--find-links" not in LOCK


def test_it_has_the_versions_of_all_lists() -> None:
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-webhook.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if match := re.match(r"([A-Za-z0-9._-]+)(?:\[\S+\])?==([^;\s]+)", line):
                package = re.sub(r"[-_.]+", "-", match[1]).lower()
                assert locked()[package] == match[2], f"{package}: run `make lock`"
            else:
                assert line.startswith(("#", "-r ")), line


def test_the_package_is_built_with_the_locked_setuptools() -> None:
    (required,) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert required == f"setuptools=={locked()['setuptools']}"


def test_nothing_is_installed_without_its_hash() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^\t@\$\(PIP\) (.*?)(?: \|\| { \\)?$", makefile, re.MULTILINE) == [
        "--no-compile --require-hashes --only-binary :all: -r requirements.lock",
        "--no-deps --no-build-isolation -e .",
    ]
    assert makefile.count("pip install") == 1
