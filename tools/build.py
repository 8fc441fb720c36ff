"""Build the real tools this project drives, from the Go module files beside this script, or unpack their packages.

Standard library only: it runs before the virtual environment exists. What it builds goes to a cache
outside the clone (``$XDG_CACHE_HOME/multiarch-eks/tools``, ``~/.cache`` by default), in a folder whose name carries a
hash of everything the build depends on, so that a second clone finds it and a changed pin never meets an old binary.

Shell:  ``python3 tools/build.py NAME…``, ``--all``.
Python: ``build.ensure("pulumi")`` returns the path of the executable.

Exit codes: 0 fine, 2 wrong usage, 3 something outside failed (no Go, no apt, no network, a failed build).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

if not __package__:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import packages
from tools.model import Borrowed, Tool
from tools.model import BuildError as BuildError  # noqa: PLC0414 (all others take it from here)

TOOLS = Path(__file__).resolve().parent
LAYOUT = "1"  # raise when the layout of a cache folder or the way of building changes
LOG_LINES_SHOWN = 30


def _read_table(file: Path) -> dict[str, Tool]:
    rows = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        name: Tool(
            name=name,
            borrows=tuple(Borrowed(**part) for part in row.pop("borrows", ())),
            debian_libraries=tuple(row.pop("debian_libraries", ())),
            **row,
        )
        for name, row in rows.items()
    }


TOOLS_BY_NAME: Mapping[str, Tool] = _read_table(TOOLS / "tools.toml")
PULUMI_VERSION = TOOLS_BY_NAME["pulumi"].ldflags.rpartition("=")[2]
"""The version that the engine says it is (tools.toml says why it is not the SDK's)."""

GO_MISSING = """\
Go is not on PATH, and {name} must be built with it.
  What for: the Pulumi engine where no `pulumi` is installed, and the programs that the tests check
            what is generated with. Nothing that you deploy is written in Go.
  How to get it: https://go.dev/doc/install, or your package manager (Go 1.26 or later).
  Without it: install `pulumi` (https://www.pulumi.com/docs/install/) for `make up`;
            `make render STACK=…` and `make check` need only Python."""


def say(text: str) -> None:
    """Say on standard error what is being built."""
    print(text, file=sys.stderr, flush=True)


def cache_root(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the built tools; it need not exist."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "multiarch-eks" / "tools"


def _tool(name: str) -> Tool:
    try:
        return TOOLS_BY_NAME[name]
    except KeyError:
        raise BuildError(f"unknown tool {name!r}; known: {', '.join(sorted(TOOLS_BY_NAME))}") from None


def key(tool: Tool) -> str:
    """Hash everything the executable depends on: module files, sources, flags, this machine's kind."""
    digest = hashlib.sha256()
    parts = [LAYOUT, repr(tool), sys.platform, platform.machine()]
    apart = (tool.executable, tool.goarch, tool.debian_file, *tool.debian_libraries, tool.npm_file)
    parts += [text for text in apart if text]
    parts += ["root"] if tool.debian_root else []
    own = () if tool.debian_file else (tool.module_folder,)
    folders = sorted({*own, *(borrowed.pinned_in for borrowed in tool.borrows)})
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    for folder in folders:
        for file in sorted((TOOLS / folder).iterdir()):
            if file.suffix in {".go", ".mod", ".sum", ".json", ".mjs"}:
                content = file.read_bytes()
                digest.update(f"{folder}/{file.name}:{len(content)}:".encode())
                digest.update(content)
    return digest.hexdigest()[:16]


def bin_dir(name: str) -> Path:
    """Return the folder that holds (or will hold) the executable, and nothing but its own files."""
    tool = _tool(name)
    return cache_root() / f"{tool.name}-{key(tool)}"


def executable(name: str) -> Path:
    """Return where the executable is, or will be, in the cache."""
    return bin_dir(name) / _tool(name).file_name


def installed(name: str) -> Path | None:
    """Return the executable if it has been built already; that of a Debian package may also be on PATH."""
    path = executable(name)
    if path.is_file():
        return path
    on_path = shutil.which(path.name) if _tool(name).debian_file else None
    return Path(on_path) if on_path else None


def ensure(name: str) -> Path:
    """Return the executable, building it when it is missing.

    Raises:
        BuildError: Go or apt is missing, or the build failed; the message says what to do.
    """
    tool = _tool(name)
    found = installed(name)
    if found is not None:
        return found
    try:
        if tool.is_package:
            packages.require(tool)
        elif shutil.which("go") is None:
            raise BuildError(GO_MISSING.format(name=tool.name))
        cache_root().mkdir(parents=True, exist_ok=True)
        with _lock(name):
            # Another process may have built it while this one waited.
            return installed(name) or _build(tool)
    except OSError as error:
        raise BuildError(f"the cache {cache_root()} cannot be used: {error}") from error


@contextlib.contextmanager
def _lock(name: str) -> Iterator[None]:
    """Let one build run at a time on this machine: each uses every core, and two of the same would collide.

    The lock file names the build that holds it.
    """
    with (cache_root() / ".lock").open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            say(f"{name}: waiting for the build of {handle.read() or 'another tool'} to finish")
            fcntl.flock(handle, fcntl.LOCK_EX)
        handle.truncate(0)
        handle.write(f"{name} (process {os.getpid()})")
        handle.flush()
        # Under the lock, a build folder can only be what a killed build left behind.
        for left in cache_root().glob(".building-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _build(tool: Tool) -> Path:
    started = time.monotonic()
    target = bin_dir(tool.name)
    workplace = Path(tempfile.mkdtemp(prefix=".building-", dir=cache_root()))
    output = workplace / "bin"
    output.mkdir()
    try:
        if tool.debian_file:
            say(f"{tool.name}: from the Debian package {tool.package}")
            packages.unpack_debian(tool, workplace, output)
        elif tool.npm_file:
            say(f"{tool.name}: from the npm package {tool.package}")
            packages.install_npm(tool, TOOLS / tool.module_folder, workplace, output)
        else:
            _compile(tool, workplace / "build.log", output)
        shutil.rmtree(target, ignore_errors=True)  # a folder without its executable
        output.rename(target)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    say(f"{tool.name}: built in {time.monotonic() - started:.0f} s")
    return executable(tool.name)


def _compile(tool: Tool, log: Path, output: Path) -> None:
    minutes = max(1, round(tool.seconds / 60))
    say(f"{tool.name}: building (first time only, about {minutes} minute{'s'[: minutes > 1]} on two cores)")
    command = ["go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", tool.ldflags]
    command += ["-tags", tool.tags] if tool.tags else []
    command += ["-o", str(output / tool.file_name), tool.package]
    _go(command, tool, log)
    for borrowed in tool.borrows:
        _borrow(borrowed, output)


def _borrow(borrowed: Borrowed, output: Path) -> None:
    source = module_dir(borrowed.pinned_in, borrowed.module) / borrowed.file
    if not source.is_file():
        raise BuildError(f"{borrowed.module}, pinned for {borrowed.pinned_in}, has no file {borrowed.file}")
    copy = output / source.name
    shutil.copyfile(source, copy)
    copy.chmod(0o755)  # files of the module cache are not executable


def module_dir(folder: str, module: str) -> Path:
    """Return the folder of a Go module's files in Go's module cache (read-only), downloading it when it is missing.

    ``folder`` is the one below ``tools`` whose go.mod pins ``module``, as in
    ``module_dir("karpenter", "sigs.k8s.io/karpenter")``.

    Raises:
        BuildError: Go is missing, or ``go`` does not find the module; the message says what it said.
    """
    if shutil.which("go") is None:
        raise BuildError(GO_MISSING.format(name=f"files of {module}"))
    where = ["go", "list", "-m", "-f", "{{.Dir}}", module]
    result = subprocess.CompletedProcess[str]([], 0, "", "")
    for command in (["go", "mod", "download", module], where):
        result = subprocess.run(
            command, cwd=TOOLS / folder, env=_go_environment(), capture_output=True, text=True, check=False
        )
        if result.returncode:
            raise BuildError(f"{' '.join(command)} failed in {TOOLS / folder}:\n{result.stderr.strip()}")
    return Path(result.stdout.strip())


def _go_environment(goarch: str = "") -> dict[str, str]:
    # Ignore the caller's cross-compilation settings: the tool says what it is built for.
    environ = {name: value for name, value in os.environ.items() if name not in {"GOOS", "GOARCH", "GOARM", "GOAMD64"}}
    if goarch:
        environ["GOARCH"] = goarch
    return environ | {"CGO_ENABLED": "0", "GOWORK": "off"}


def _go(command: Sequence[str], tool: Tool, log: Path) -> None:
    """Run ``go`` in a process group of its own, so that stopping it stops the compilers it started."""
    with log.open("wb") as output:
        process = None
        # A signal that comes while go starts is handled when there is a process to stop.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            process = subprocess.Popen(
                command, cwd=TOOLS / tool.module_folder, env=_go_environment(tool.goarch), stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            process.wait()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode:
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        raise BuildError("\n".join([f"{tool.name} did not build; go said:", *(f"  {line}" for line in lines)]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see the module's text."""
    parser = argparse.ArgumentParser(prog="tools/build.py", description="Build the real tools this project drives.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="tools to build when missing")
    parser.add_argument("--all", action="store_true", help="every tool")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(TOOLS_BY_NAME))
    if unknown:
        parser.error(f"unknown tool {', '.join(unknown)}; known: {', '.join(TOOLS_BY_NAME)}")
    if not (options.names or options.all):
        parser.error("name a tool, or give --all")
    try:
        for name in TOOLS_BY_NAME if options.all else options.names:
            if installed(name):
                say(f"{name}: already built")
            print(ensure(name), flush=True)
    except BuildError as error:
        print(f"tools/build.py: {error}", file=sys.stderr)
        return 3
    return 0


def _stop_on_sigterm(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop_on_sigterm)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ntools/build.py: stopped; what was half built is gone", file=sys.stderr)
        sys.exit(130)
