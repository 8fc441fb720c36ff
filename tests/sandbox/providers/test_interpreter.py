"""Python with loaded SDKs does what Python does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path
from types import MappingProxyType

import pytest

from sandbox import processes
from sandbox.cluster.programs import wait_for
from sandbox.environment import write_plugins
from sandbox.layout import CLONE, Layout
from sandbox.providers import forking, interpreter

FORKS = """
import sys
from pathlib import Path
from sandbox.providers import forking
forking.serve(Path(sys.argv[1]), ahead=False)
"""
SHOWS = """
import atexit, os, sys
atexit.register(print, "the end")
print(sys.argv, [each for each in sys.path if "editable" not in each], __name__, os.getcwd(), os.environ["OWN"])
print(sys.stdin.read(), file=sys.stderr)
from multiarch import where
print(where)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a program, a module of this project's name, and the process that forks."""
    root = tmp_path_factory.mktemp("interpreter")
    layout = Layout(root)
    write_plugins(layout)
    layout.server.mkdir(parents=True)
    (root / "multiarch.py").write_text("where = 'beside the program'\n")
    listening = layout.server / forking.PYTHON
    with subprocess.Popen([sys.executable, "-c", FORKS, str(layout.server)], cwd=CLONE) as forks:
        wait_for(listening.exists, "the socket", timeout=20)
        yield root
        forks.kill()


def run(
    folder: Path, command: Sequence[str | Path], environ: Mapping[str, str] = MappingProxyType({})
) -> tuple[int, str, str]:
    environ = {**os.environ, "OWN": "'é'\n", **environ}
    done = subprocess.run(command, cwd=folder, env=environ, input="typed", capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "end",
    ["", "sys.exit()", "sys.exit(32)", "sys.exit('a sentence')", "raise KeyError('x')", "os._exit(7)"],
    ids=["end", "exit", "32", "sentence", "exception", "at once"],
)
def test_a_program_runs_and_ends_as_in_python(folder: Path, end: str) -> None:
    script = folder / "pulumi-language-python-exec"
    script.write_text(f"{SHOWS}\n{end}\n")
    arguments = [str(script), "--stack", "a b"]
    code, out, err = run(folder, [Layout(folder).programs / interpreter.NAME, *arguments])
    expected = run(folder, [sys.executable, *arguments])
    assert out == expected[1]
    assert err.splitlines()[-1] == expected[2].splitlines()[-1]  # a traceback has more lines
    # Of a program that ends at once nothing is known but that it did.
    assert code == (1 if "_exit" in end else expected[0])


def test_pip_lists_what_it_lists_also_after_an_installation_and_reads_the_packages_once(
    folder: Path, tmp_path: Path
) -> None:
    arguments = ["-m", "pip", "list", "-v", "--format", "json"]
    environ = {"PYTHONPATH": str(tmp_path)}
    listed, kept = [], []
    for name in ("", "", "shop"):
        (folder / "Pulumi.yaml").unlink(missing_ok=True)
        (folder / "Pulumi.yaml").write_text("name: own\n")  # as before each command
        if name:
            (tmp_path / f"{name}-1.0.dist-info").mkdir()
            (tmp_path / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        listed.append(run(folder, [Layout(folder).programs / interpreter.NAME, *arguments], environ))
        kept.append((Layout(folder).server / "packages.json").stat().st_ino)
    plain = run(folder, [sys.executable, *arguments], environ)
    assert listed[2] == plain
    assert '"shop"' in plain[1]
    assert listed[0] == listed[1]
    assert '"shop"' not in listed[1][1]
    assert kept[0] == kept[1] != kept[2]


@pytest.mark.parametrize("answer", [None, b"", b"\x01"], ids=["unread", "no exit code", "exit code 1"])
def test_what_pip_does_not_list_in_the_other_process_it_lists_in_its_own(tmp_path: Path, answer: bytes | None) -> None:
    layout = Layout(tmp_path)
    write_plugins(layout)
    layout.server.mkdir(parents=True)
    arguments = ["-m", "pip", "list", "-v", "--format", "json"]

    def fail() -> None:
        connection, _ = listener.accept()
        with connection:
            if answer is not None:
                connection.recv(1 << 20)
                connection.sendall(answer)

    with chdir(layout.server), socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor() as threads:
        listener.bind(forking.PYTHON)
        listener.listen()
        failed = threads.submit(fail)
        listed = run(tmp_path, [layout.programs / interpreter.NAME, *arguments])
        failed.result(timeout=10)
    assert listed == run(tmp_path, [sys.executable, *arguments])


def test_a_connection_that_ends_before_its_request_leaves_no_process(folder: Path) -> None:
    def forked() -> int:
        mark = str(Layout(folder).server)
        return sum(mark in words for _, words in processes.command_lines())

    wait_for(lambda: forked() == 1, "the programs' end", timeout=5)
    with chdir(Layout(folder).server), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(forking.PYTHON)
        wait_for(lambda: forked() == 2, "the process", timeout=20)
    wait_for(lambda: forked() == 1, "its end", timeout=5)


def test_a_program_ends_with_its_language_host(folder: Path) -> None:
    script = folder / "pulumi-language-python-exec"
    script.write_text("import os, time; print(os.getpid(), flush=True); time.sleep(600)\n")
    command: list[str | Path] = [Layout(folder).programs / interpreter.NAME, script, "--stack"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        process = int(started.stdout.readline())
        assert process != started.pid  # it was forked
        started.kill()
        wait_for(lambda: not processes.is_running(process), "the program's end", timeout=5)
