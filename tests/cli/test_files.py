"""A file is replaced in one step, where it really lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from multiarch.cli.files import write_atomically
from multiarch.errors import MultiarchError
from tests.cli.running import type_of_run


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(Path("there", "target"))
    write_atomically(link, "new")
    assert link.readlink() == Path("there", "target")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)
    assert sorted(path.name for path in target.parent.iterdir()) == ["target"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("target")
    write_atomically(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_what_is_not_a_file_is_left_alone(tmp_path: Path) -> None:
    loop, pipe, folder, device = (tmp_path / name for name in ("loop", "pipe", "folder", "device"))
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    folder.mkdir()
    device.symlink_to("/dev/null")
    for path in (loop, pipe, folder, device):
        with pytest.raises(MultiarchError, match=f"{path.name} can't be written: not a regular file"):
            write_atomically(path, "new")
    assert loop.is_symlink()
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()


def test_stack_new_writes_through_a_link(clone: Path, run: type_of_run) -> None:
    link = clone / "config" / "stacks" / "Pulumi.search-dev.yaml"
    link.symlink_to(clone / "kept.yaml")
    (clone / "kept.yaml").write_text("config: {}\n")
    assert run("stack", "new", "--team", "search", "--env", "dev").code == 2
    assert run("stack", "new", "--team", "search", "--env", "dev", "--force").code == 0
    assert link.is_symlink()
    assert 'multiarch-eks:team: "search"' in (clone / "kept.yaml").read_text()
