"""The command that a container starts, followed through scripts to the binaries."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from multiarch.images.elf import OtherFile, Script
from multiarch.images.file_tree import FileTree, Lookup
from multiarch.images.layers import Program

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH of containerd and Docker if an image sets none."""
INTERPRETERS = 5
"""How many scripts may interpret one another, as in the kernel."""
_SHELLS = frozenset({"ash", "bash", "dash", "sh"})


@dataclass(frozen=True, slots=True)
class StartCommand:
    """How a config starts a container: the command, the working directory and the search path."""

    command: tuple[str, ...]
    folder: str
    search: str

    @property
    def runs_shell_text(self) -> bool:
        """Whether it runs ``sh -c TEXT``: what the text starts is not followed."""
        name = posixpath.basename(self.command[0]) if self.command else ""
        return name in _SHELLS and "-c" in self.command[1:2]


def read_start_command(config: Mapping[str, object]) -> StartCommand:
    """Read an image config's ``Entrypoint``, ``Cmd``, ``WorkingDir`` and ``Env``. Invalid values count as unset.

    Source: https://github.com/opencontainers/image-spec/blob/main/config.md
    """
    found = config.get("config")
    values: Mapping[str, object] = found if isinstance(found, Mapping) else {}
    command = (*_texts(values.get("Entrypoint")), *_texts(values.get("Cmd")))
    written = values.get("WorkingDir")
    folder = f"/{written}" if isinstance(written, str) else "/"
    pairs = (text.partition("=") for text in _texts(values.get("Env")))
    paths = [value for name, _, value in pairs if name == "PATH"]
    search = paths[-1] if paths else DEFAULT_PATH
    return StartCommand(command, folder, search)


def follow_entry_point(tree: FileTree, start: StartCommand) -> tuple[Lookup, ...]:
    """Follow the command to its binary: a script to its interpreter, ``env NAME`` on to NAME.

    The last one is an ELF file, or where the search ends. ``start.command`` must not be empty.

    Raises LowerLayerNeededError if the result depends on a layer that was not read yet.
    """
    return tuple(_followed(tree, start))


def _followed(tree: FileTree, start: StartCommand) -> Iterator[Lookup]:
    names = [start.command[0]]
    for _ in range(INTERPRETERS):
        following: list[str] = []
        for name in names:
            found = tree.program(name, search=start.search, start=start.folder)
            yield found
            if isinstance(found.head, Script):
                following += _interpreters(found.head)
        if not following:
            return
        names = following
    yield Lookup(names[0], Program(OtherFile(f"behind more than {INTERPRETERS} nested interpreters")))


def _interpreters(script: Script) -> list[str]:
    """Return a script's interpreter; if that is ``env``, also the command that it runs."""
    names = [script.interpreter]
    if posixpath.basename(script.interpreter) == "env":
        words = script.argument.split()
        wanted = next((word for word in words if not word.startswith("-") and "=" not in word), None)
        if wanted is not None:
            names.append(wanted)
    return names


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
