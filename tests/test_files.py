"""Files are read up to a limit, and replaced in one step, where they really lie."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from multiarch import files
from multiarch.errors import MultiarchError
from multiarch.files import write_atomically


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


def test_a_new_file_has_the_mode_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_private_file_is_private_at_every_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "private"
    file.write_text("old")
    file.chmod(0o600)
    modes = []
    monkeypatch.setattr(Path, "chmod", lambda path, _mode: modes.append(path.stat().st_mode & 0o777))
    write_atomically(file, "new")
    assert modes == [0o600]


def test_a_device_is_not_read(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="it is a device"):
        files.read_bytes(link)


def test_what_ends_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    try:
        assert files.read_text(Path(f"/dev/fd/{reading}")) == "piped"
    finally:
        os.close(reading)
    assert files.read_text(tmp_path / "file") == "text"
    assert files.read_bytes(Path("/dev/null")) == b""


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(3_000_001))
    with pytest.raises(OSError, match="it is larger than 3 MB"):
        files.read_bytes(tmp_path / "file", 3_000_000)
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        assert endless.stdout is not None
        with pytest.raises(OSError, match="it is larger than 3 MB"):
            files.read_bytes(Path(f"/dev/fd/{endless.stdout.fileno()}"), 3_000_000)
        endless.kill()


def test_a_path_with_a_nul_is_not_opened() -> None:
    with pytest.raises(OSError, match="the path contains a NUL character"):
        files.read_bytes(Path("a\0b"))
