"""Pulumi's folder shows the user's project as it is, and takes what Pulumi writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.layout import SandboxUsageError
from sandbox.project import sync
from tests.sandbox.shop import Project


def copied(project: Project, stack: str = "shop-dev") -> Path:
    return project.layout.project / "config" / "stacks" / f"Pulumi.{stack}.yaml"


def test_everything_is_linked_but_what_pulumi_writes_to(project: Project) -> None:
    (project.root / "components").mkdir()
    (project.root / "config" / "stack.schema.json").write_text("{}")
    (project.root / "config" / "stacks" / "README.md").write_text("words")
    for omitted in ("build", ".git", ".mypy_cache"):
        (project.root / omitted).mkdir()
    (project.root / ".venv").mkdir()
    sync(project.layout)
    folder = project.layout.project
    entries = {str(path.relative_to(folder)): path.is_symlink() for path in folder.rglob("*")}
    assert entries == {
        ".venv": True,
        "Pulumi.yaml": False,
        "__main__.py": True,
        "components": True,
        "config": False,
        "config/stack.schema.json": True,
        "config/stacks": False,
        "config/stacks/Pulumi.shop-dev.yaml": False,
        "config/stacks/README.md": True,
    }


def test_what_is_renamed_or_removed_goes_from_the_folder_too(project: Project) -> None:
    (project.root / "components").mkdir()
    sync(project.layout)
    (project.root / "components").rename(project.root / "parts")
    project.stack_file().rename(project.stack_file("shop-test"))
    sync(project.layout)
    assert (project.layout.project / "parts").is_symlink()
    assert not (project.layout.project / "components").is_symlink()
    assert not copied(project).exists()
    assert copied(project, "shop-test").is_file()


def test_the_salt_that_pulumi_wrote_stays_and_the_users_text_is_unchanged(project: Project) -> None:
    sync(project.layout)
    text = copied(project).read_text()
    copied(project).write_text("config:\n  fixture:parts: [one, two]\nencryptionsalt: v1:abc\n")
    project.stack_file().write_text(text + "    fixture:more: yes\n")
    sync(project.layout)
    assert copied(project).read_text() == text + "    fixture:more: yes\nencryptionsalt: v1:abc\n"


def test_the_users_own_secrets_provider_is_blanked_out_and_lines_keep_their_numbers(project: Project) -> None:
    theirs = "encryptionsalt: v1:theirs\nsecretsprovider: awskms://alias/x\nencryptedkey: QUJD\n"
    project.stack_file().write_text(f"{theirs}config:\n  fixture:parts: []")
    sync(project.layout)
    assert copied(project).read_text() == "\n\n\nconfig:\n  fixture:parts: []\n"


def test_the_copy_of_a_stack_that_is_up_stays_when_its_file_goes(project: Project) -> None:
    project.stack_file().write_text("config:\n  aws:region: eu-north-1\n")
    sync(project.layout)
    state = project.layout.backend / ".pulumi" / "stacks" / "fixture" / "shop-dev.json"
    state.parent.mkdir(parents=True)
    state.write_text("{}")
    project.stack_file().unlink()
    sync(project.layout)
    assert copied(project).is_file()
    assert project.layout.region("shop-dev") == "eu-north-1"


def test_a_value_encrypted_elsewhere_is_rejected(project: Project) -> None:
    project.stack_file().write_text("config:\n  fixture:token:\n    secure: v1:abcdef\n")
    with pytest.raises(SandboxUsageError, match="encrypted for another backend"):
        sync(project.layout)


@pytest.mark.parametrize("text", ["name: [", "- a\n", "runtime: python\n"])
def test_a_broken_pulumi_yaml_is_an_error_that_names_it(project: Project, text: str) -> None:
    (project.root / "Pulumi.yaml").write_text(text)
    with pytest.raises(SandboxUsageError, match=r"Pulumi\.yaml"):
        sync(project.layout)


def test_stack_files_outside_of_the_project_are_rejected(project: Project) -> None:
    (project.root / "Pulumi.yaml").write_text("name: fixture\nstackConfigDir: ../elsewhere\n")
    with pytest.raises(SandboxUsageError, match="outside of the project"):
        sync(project.layout)


@pytest.mark.parametrize(
    ("project_wide", "own", "region"),
    [
        ("eu-central-1", "{}", "eu-central-1"),
        ("{value: eu-north-1}", "{}", "eu-north-1"),
        ("eu-central-1", "{'aws:region': us-west-2}", "us-west-2"),
    ],
)
def test_a_stacks_region_is_its_own_or_the_projects(project: Project, project_wide: str, own: str, region: str) -> None:
    (project.root / "Pulumi.yaml").write_text(
        f"name: f\nstackConfigDir: config/stacks\nconfig: {{'aws:region': {project_wide}}}\n"
    )
    project.stack_file().write_text(f"config: {own}\n")
    assert project.layout.region("shop-dev") == region
