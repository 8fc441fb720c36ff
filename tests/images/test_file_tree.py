"""Layers seen as one file tree, from the top down, and an entry point followed through it."""

from __future__ import annotations

import pytest

from multiarch.images.elf import Elf, OtherFile, Script
from multiarch.images.entry_point import (
    DEFAULT_PATH,
    INTERPRETERS,
    StartCommand,
    follow_entry_point,
    read_start_command,
)
from multiarch.images.file_tree import LINKS, FileTree, LowerLayerNeededError
from multiarch.images.layers import PlainNode, Program
from tests.images.archives import File, Folder, HardLink, Part, Symlink, layer

ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00"
ARM64 = Program(Elf(183, 64, little_endian=True))


def tree(*layers: list[Part], complete: bool = True) -> FileTree:
    """The layers, the topmost first."""
    return FileTree([layer(*parts) for parts in layers], complete)


def test_an_absolute_path_in_the_topmost_layer_needs_no_other() -> None:
    top = tree([Folder("app"), File("app/server", ELF)], complete=False)
    assert top.find("/app/server").node == ARM64
    with pytest.raises(LowerLayerNeededError):
        top.find("/bin/sh")


def test_a_directory_that_is_only_implied_may_be_a_link_below() -> None:
    parts: list[Part] = [File("app/server", ELF)]
    with pytest.raises(LowerLayerNeededError):
        tree(parts, complete=False).find("/app/server")
    assert tree(parts).find("/app/server").node == ARM64
    below: list[Part] = [Symlink("app", "opt/app"), Folder("opt/app")]
    assert tree(parts, below).find("/app/server").node == ARM64


def test_links_are_followed_within_the_root_and_over_layers() -> None:
    made = tree(
        [Symlink("usr/bin/java", "/etc/alternatives/java")],
        [Symlink("etc/alternatives/java", "../../../../usr/lib/jvm/bin/java")],
        [Symlink("bin", "usr/bin"), File("usr/lib/jvm/bin/java", ELF)],
    )
    assert made.find("/bin/java") == made.find("/usr/lib/jvm/bin/java")
    assert made.find("/bin/java").path == "/usr/lib/jvm/bin/java"


def test_links_in_a_circle_end() -> None:
    found = tree([Symlink("a", "b"), Symlink("b", "a")]).find("/a")
    assert (found.node, found.why) == (None, f"more than {LINKS} symbolic links in /a")


def test_a_whiteout_an_opaque_folder_and_a_replacement_hide() -> None:
    lower: list[Part] = [Folder("a"), File("a/x", ELF), File("b/x", ELF), File("c/x", ELF), Folder("d"), File("e", ELF)]
    made = tree([File("a/.wh.x"), File("b/.wh..wh..opq"), File("c"), File("e", b"", 0o644)], lower)
    assert [made.find(path).node for path in ("/a/x", "/b/x", "/c/x")] == [None] * 3
    assert made.find("/e").node is PlainNode.FILE
    assert made.find("/d").node is PlainNode.DIRECTORY
    top = FileTree(made.layers[:1])
    assert [path for path in ("a/x", "b/x", "c/x", "d/x", "e") if top.hidden(path)] == ["a/x", "b/x", "c/x", "e"]


def test_a_removed_directory_made_again_shows_nothing_of_before() -> None:
    made = tree([File(".wh.app"), Folder("app"), File("app/new", ELF)], [Folder("app"), File("app/old", ELF)])
    assert made.find("/app/new").node == ARM64
    assert made.find("/app/old").node is None


def test_a_hard_link_into_a_lower_layer_leads_there() -> None:
    made = tree([HardLink("bin/other", "bin/tool")], [File("bin/tool", ELF)])
    assert made.find("/bin/other").node == ARM64


def test_a_command_is_looked_for_along_the_path_past_what_is_not_executable() -> None:
    made = tree([File("usr/local/bin/tool", b"", 0o644), Folder("usr/sbin/tool"), File("usr/bin/tool", ELF)])
    found = made.program("tool", search=DEFAULT_PATH, start="/")
    assert (found.path, found.node) == ("/usr/bin/tool", ARM64)
    assert made.program("none", search="/bin", start="/").why == "no executable none in PATH (/bin)"


def test_a_command_with_a_slash_is_relative_to_the_working_directory() -> None:
    made = tree([File("srv/bin/tool", ELF), File("srv/text", b"", 0o644)])
    assert made.program("./bin/tool", search="", start="/srv").node == ARM64
    assert made.program("bin/../bin/tool", search="", start="/srv").node == ARM64
    assert made.program("./text", search="", start="/srv").why == "/srv/text is a file that is not executable"
    assert made.program("tool", search=":/usr", start="/srv/bin").node == ARM64


def start(*command: str, folder: str = "/", search: str = "/usr/bin:/bin") -> StartCommand:
    return StartCommand(command, folder, search)


def test_scripts_that_interpret_themselves_end() -> None:
    made = tree([File("start", b"#!/start\n")])
    followed = follow_entry_point(made, start("/start"))
    assert len(followed) == INTERPRETERS + 1
    assert isinstance(followed[0].head, Script)
    assert isinstance(followed[-1].head, OtherFile)


def test_a_config_s_words_make_the_command() -> None:
    config = {
        "config": {
            "Entrypoint": ["/bin/sh", "-c"],
            "Cmd": ["exec app", 5],
            "WorkingDir": "/srv",
            "Env": ["PATH=/opt", "A=b", "PATH=/bin"],
        }
    }
    read = read_start_command(config)
    assert read == StartCommand(("/bin/sh", "-c", "exec app"), "//srv", "/bin")
    assert read.runs_shell_text
    assert read_start_command({}) == StartCommand((), "/", DEFAULT_PATH)
    assert read_start_command({"config": {"Entrypoint": "sh", "Env": None, "WorkingDir": 4}}) == StartCommand(
        (), "/", DEFAULT_PATH
    )
