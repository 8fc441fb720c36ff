"""What Git says about a clone, with the real Git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from multiarch.errors import MultiarchError, OutsideError
from multiarch.git import ChangedFile, Repository


def _git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a folder ``sub`` and one commit on main."""
    folder = tmp_path / "clone"
    (folder / "sub").mkdir(parents=True)
    _git(folder, "init", "-q")
    for name, text in {"a.txt": "a", "sub/b.txt": "b", "sub/-- c\n.txt": "c"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", "first")
    return folder


def test_the_base_is_where_the_branch_began(clone: Path) -> None:
    first = _git(clone, "rev-parse", "HEAD")
    _git(clone, "checkout", "-qb", "change")
    _git(clone, "commit", "-qm", "mine", "--allow-empty")
    _git(clone, "checkout", "-q", "main")
    _git(clone, "commit", "-qm", "theirs", "--allow-empty")
    _git(clone, "checkout", "-q", "change")
    assert Repository.of(clone).base("main") == first


def test_changed_files_are_those_of_commits_of_the_working_tree_and_new_ones(clone: Path) -> None:
    repository = Repository.of(clone)
    base = repository.base("HEAD")
    (clone / ".gitignore").write_text("ignored\n", encoding="utf-8")
    (clone / "ignored").write_text("", encoding="utf-8")
    (clone / "sub/b.txt").unlink()
    _git(clone, "mv", "a.txt", "moved.txt")
    _git(clone, "commit", "-qam", "moved")
    (clone / "sub/-- c\n.txt").write_text("other", encoding="utf-8")
    assert repository.changed(base) == [
        ChangedFile(".gitignore"),
        ChangedFile("a.txt", deleted=True),
        ChangedFile("moved.txt"),
        ChangedFile("sub/-- c\n.txt"),
        ChangedFile("sub/b.txt", deleted=True),
    ]


def test_paths_are_relative_to_the_folder_and_others_are_not_its_business(clone: Path) -> None:
    repository = Repository.of(clone / "sub")
    base = repository.base("HEAD")
    (clone / "a.txt").write_text("other", encoding="utf-8")
    (clone / "sub/b.txt").write_text("other", encoding="utf-8")
    assert repository.changed(base) == [ChangedFile("b.txt")]
    assert repository.read(base, "b.txt") == b"b"
    assert repository.names(base, ".") == ["-- c\n.txt", "b.txt"]


def test_what_a_commit_has_and_has_not(clone: Path) -> None:
    repository = Repository.of(clone)
    base = repository.base("HEAD")
    (clone / "a.txt").write_text("other", encoding="utf-8")
    assert repository.read(base, "a.txt") == b"a"
    assert repository.read(base, "missing.txt") is None
    assert repository.names(base, "missing") == []
    with pytest.raises(OutsideError, match="git cat-file failed"):
        repository.read(base, "sub")


def test_an_unknown_ref_is_named_with_the_fix(clone: Path) -> None:
    with pytest.raises(MultiarchError, match=r"no commit 'origin/main'.*git fetch origin main"):
        Repository.of(clone).base("origin/main")


def test_a_shallow_clone_is_named_with_the_fix(clone: Path, tmp_path: Path) -> None:
    _git(clone, "checkout", "-qb", "change")
    _git(clone, "commit", "-qm", "mine", "--allow-empty")
    _git(clone, "checkout", "-q", "main")
    _git(clone, "commit", "-qm", "theirs", "--allow-empty")
    shallow = tmp_path / "shallow"
    _git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{clone}", str(shallow))
    with pytest.raises(MultiarchError, match=r"no common commit.*fetch all history"):
        Repository.of(shallow).base("origin/change")


def test_a_folder_outside_a_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(MultiarchError, match="Git reads no repository"):
        Repository.of(tmp_path)
