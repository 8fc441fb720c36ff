"""``connect.py SOCKET NAME ARGUMENT…``: have a stand-in or ``python`` started (see ``forking.py``), and end with it.

It also ends with what has started it: the engine, or its language host.

Imports little, and nothing of the project: it must start fast.
"""

import json
import os
import select
import signal
import socket
import sys


def main(path: str, name: str, *arguments: str) -> None:
    """Pass the streams on, then wait for the exit code; without a process at ``path``, become the program."""
    # By Python's own handlers an end could come late: see quiet_end in __init__.py.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    engine, folder = os.getppid(), os.getcwd()  # noqa: PTH109 (pathlib takes longer to import than the rest)
    connection = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(os.path.dirname(path))  # noqa: PTH120
        connection.connect(os.path.basename(path))  # noqa: PTH119
    except OSError:
        os.chdir(folder)
        begin = [] if name == "python" else ["-m", "sandbox.providers", name]
        os.execv(sys.executable, [sys.executable, *begin, *arguments])  # noqa: S606
    request = json.dumps([name, arguments, dict(os.environ), folder]).encode() + b"\n"
    sent = socket.send_fds(connection, [request], [0, 1, 2])
    connection.sendall(request[sent:])
    while os.getppid() == engine:
        if select.select([connection], [], [], 0.5)[0]:
            code = connection.recv(1)
            sys.exit(code[0] if code else name == "python")


if __name__ == "__main__":
    main(*sys.argv[1:])
