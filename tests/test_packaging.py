"""The package's metadata, and the hooks that it offers to pre-commit."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import multiarch
from tests.quotations import ROOT, environment

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def test_the_newest_version_in_the_changelog_is_the_package_s_and_has_a_date() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) – (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    assert newest
    assert newest[1] == multiarch.__version__ == "0.1.0"


def test_the_files_that_the_metadata_names_exist() -> None:
    for name in (PROJECT["readme"], *PROJECT["license-files"], "multiarch/py.typed"):
        assert (ROOT / name).is_file(), name
    assert "Typing :: Typed" in PROJECT["classifiers"]
    python = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]


def test_the_hook_s_program_is_one_that_the_package_installs() -> None:
    assert HOOK["language"] == "python"
    assert HOOK["entry"].split()[0] in PROJECT["scripts"]


@pytest.mark.parametrize(
    ("path", "checked"),
    [
        ("config/stacks/Pulumi.search-dev.yaml", True),
        ("infra/Pulumi.dev.yaml", False),
    ],
)
def test_the_hook_looks_at_stack_files_alone(path: str, checked: bool) -> None:  # noqa: FBT001  (a parameter)
    assert bool(re.search(HOOK["files"], path)) == checked


def outside(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder that is no clone, with the wheel and this environment's packages."""
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        # Of this environment, the clone itself is on the module path too: behind the wheel, and without components.
        env=environment() | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def files_in(folder: Path) -> set[Path]:
    """The files below a folder; bytecode appears as soon as somebody imports something."""
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if "__pycache__" not in path.parts}


def test_the_wheel_has_two_packages_with_their_types_and_data(installed: Path) -> None:
    found = {path.name for path in installed.iterdir()}
    assert found == {"multiarch", "multiarch_eks", f"multiarch_eks-{multiarch.__version__}.dist-info"}
    charts = {Path("charts", file) for file in files_in(ROOT / "charts")}
    for package, folder, more in (("multiarch", "multiarch", set()), ("multiarch_eks", "components", charts)):
        assert files_in(installed / package) == files_in(ROOT / folder) | more


def test_each_installed_component_imports_and_none_under_the_name_of_the_clone(installed: Path, tmp_path: Path) -> None:
    program = """
import importlib, pkgutil, sys
import multiarch_eks
for found in pkgutil.walk_packages(multiarch_eks.__path__, "multiarch_eks."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
print(multiarch_eks.__file__, [name for name in sys.modules if name.partition(".")[0] == "components"])
"""
    done = outside(installed, tmp_path, "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == f"{installed / 'multiarch_eks' / '__init__.py'} []"


def test_a_stack_is_rendered_outside_a_clone_by_the_installed_components(installed: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    (tmp_path / "components").mkdir()  # somebody else's
    stacks = tmp_path / "config" / "stacks"
    stacks.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "01-minimal" / "Pulumi.search-dev.yaml", stacks)
    # A clone's components come first, and this environment has one.
    program = f"""
import sys
sys.path = [each for each in sys.path if each != {str(ROOT)!r}]
from multiarch.cli import main
main()
"""
    done = outside(installed, tmp_path, "-c", program, "stack", "render", "search-dev")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "build" / "search-dev" / "resources.json").is_file()


def hooked(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Call the hook as pre-commit does: in the repository's root, with the paths of the files that changed."""
    command = [*shlex.split(HOOK["entry"]), *HOOK.get("args", ()), *files]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def test_the_hook_accepts_a_valid_stack_of_another_repository_and_rejects_a_wrong_one(tmp_path: Path) -> None:
    stacks = tmp_path / "config" / "stacks"
    stacks.mkdir(parents=True)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    name = "config/stacks/Pulumi.search-dev.yaml"
    shutil.copy(ROOT / "examples" / "01-minimal" / "Pulumi.search-dev.yaml", tmp_path / name)
    assert (done := hooked(tmp_path, name)).returncode == 0, done.stderr
    text = (tmp_path / name).read_text(encoding="utf-8")
    (tmp_path / name).write_text(text.replace("[m7g.large]", "[m7g.large, m7i.large]"), encoding="utf-8")
    rejected = hooked(tmp_path, name)
    assert rejected.returncode == 2
    assert "[mixed-architectures]" in rejected.stderr
