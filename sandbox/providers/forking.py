"""Start stand-ins and programs as children of a process that has their modules loaded: a Pulumi command takes half.

``connect.py`` is what the engine starts: it hands over its arguments, environment and standard streams, and ends with
the child. Where this process does not run, it loads the modules itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Final, NoReturn

from sandbox.providers import __main__ as stand_in
from sandbox.providers import interpreter

SOCKET: Final = "stand-ins.socket"
_MAX_REQUEST: Final = 1 << 20  # bytes; a kernel takes environments of up to 2 MiB
_STREAMS: Final = 3
_PAUSE_SECONDS: Final = 0.5
_OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000  # a child does not live long


def serve(path: Path) -> NoReturn:
    """Start a stand-in for each connection to the socket ``path``, until what has started this process ends."""
    parent = os.getppid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    path.unlink(missing_ok=True)
    os.chdir(path.parent)  # the path of a socket has at most 108 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)
        listener.listen(16)  # who comes early waits for the imports
        stand_in.load_all()
        interpreter.load()
        gc.freeze()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        while os.getppid() == parent:
            if not select.select([listener], [], [], _PAUSE_SECONDS)[0]:
                continue
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _become(connection)
            connection.close()
    sys.exit()


def _become(connection: socket.socket) -> NoReturn:
    """Become the stand-in that the other end of the connection requests."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(connection, _MAX_REQUEST, _STREAMS)
    while not request.endswith(b"\n"):
        request += connection.recv(_MAX_REQUEST)
    name, arguments, environ, folder = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv[1:] = arguments
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    if name == interpreter.NAME:
        interpreter.run(arguments, connection)
    stand_in.main(name)
    os._exit(0)


def _end_with(connection: socket.socket) -> None:
    """End at once when the process that the engine started ends."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os._exit(0)
