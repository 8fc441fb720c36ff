"""A tool, as ``tools.toml`` describes it."""

from __future__ import annotations

from dataclasses import dataclass, field


class BuildError(Exception):
    """A tool could not be built: no Go, no apt, no npm, no network, or ``go`` said no. The message is for people."""


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A file of a Go module that is put beside the executable: ``module`` is looked up in ``pinned_in``'s go.mod."""

    pinned_in: str
    module: str
    file: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One executable, a table of ``tools.toml``, which says what the fields mean."""

    name: str
    purpose: str
    package: str
    seconds: int
    tags: str = ""
    ldflags: str = "-s -w"
    borrows: tuple[Borrowed, ...] = ()
    # The text that the key is made of has these apart: the folder with its files, the others unless they are empty.
    folder: str = field(default="", repr=False)
    executable: str = field(default="", repr=False)
    goarch: str = field(default="", repr=False)
    debian_file: str = field(default="", repr=False)
    debian_libraries: tuple[str, ...] = field(default=(), repr=False)
    debian_root: bool = field(default=False, repr=False)
    npm_file: str = field(default="", repr=False)

    @property
    def module_folder(self) -> str:
        """The folder of its go.mod or package.json, below ``tools``."""
        return self.folder or self.name

    @property
    def is_package(self) -> bool:
        """Whether it comes from a package, of Debian or of npm; the others are built with Go."""
        return bool(self.debian_file or self.npm_file)

    @property
    def file_name(self) -> str:
        """The name of the executable's file."""
        return self.executable or self.name
