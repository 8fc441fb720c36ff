"""``connect.py SOCKET NAME ARGUMENT…``: have a stand-in or ``python`` started (see ``forking.py``), and end with it.

It also ends with what has started it: the engine, or its language host.

Imports nothing of the project, and of the standard library what is written in C: a Pulumi command starts it ten times,
and ``json``, ``signal`` and ``socket`` take longer than Python's own start.
"""

import _signal  # type: ignore[import-not-found] # typeshed has no stub of it
import _socket
import os
import select
import sys


def main(path: str, name: str, *arguments: str) -> None:
    """Pass the streams on, then wait for the exit code; without a process at ``path``, become Python.

    Also if ``python -m pip list`` fails there, or ends without an exit code: it changes nothing, so it may run again.
    """
    # Python's own handlers run when the main thread wakes up: the engine, which waits for 5 seconds, says of plugins
    # that end too late that they "exited prematurely".
    for number in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(number, _signal.SIG_DFL)
    engine, folder = os.getppid(), os.getcwd()  # noqa: PTH109 (pathlib takes longer to import than the rest)
    connection = _socket.socket(_socket.AF_UNIX)
    request = ascii([name, arguments, dict(os.environ), folder]).encode() + b"\n"
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))  # as socket.send_fds sends them
    try:
        os.chdir(os.path.dirname(path))  # noqa: PTH120
        connection.connect(os.path.basename(path))  # noqa: PTH119
        sent = connection.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
        connection.sendall(request[sent:])
    except OSError:  # nothing has run: it would need the whole request
        become(folder, name, arguments)
    while os.getppid() == engine:
        if select.select([connection], [], [], 0.5)[0]:
            try:
                code = connection.recv(1)
            except ConnectionResetError:  # the other end has not read the request
                become(folder, name, arguments)
            if code != b"\0" and arguments[:3] == ("-m", "pip", "list"):
                become(folder, name, arguments)
            sys.exit(code[0] if code else name == "python")


def become(folder: str, name: str, arguments: tuple[str, ...]) -> None:
    """Run Python in place of this, in the folder where it was started. A stand-in needs the sandbox's AWS anyway."""
    if name != "python":
        sys.exit(
            f"the process that starts the stand-in for {name} is gone; `python -m sandbox down --force` ends the rest"
        )
    os.chdir(folder)
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606


if __name__ == "__main__":
    main(*sys.argv[1:])
