"""Start stand-ins and programs as children of a process that has their modules loaded: a Pulumi command takes half.

``connect.py`` is what the engine starts: it hands over its arguments, environment and standard streams, and ends with
the child. Where this process does not run, no stand-in starts, and ``python`` is Python.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from sandbox.providers import interpreter, stand_ins

STAND_INS: Final = "stand-ins.socket"
PYTHON: Final = "python.socket"
_PACKAGES: Final = "packages.json"
AHEAD: Final = "--ahead"
"""The option of ``python -m sandbox.background``, before those of ``sandbox.aws``; see :func:`serve`."""
_MAX_REQUEST: Final = 1 << 20  # bytes; a kernel takes environments of up to 2 MiB
_STREAMS: Final = 3
_PAUSE_SECONDS: Final = 0.5
_OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000  # a child does not live long


def serve(folder: Path, *, ahead: bool) -> NoReturn:
    """Start what each connection to a socket in ``folder`` requests, until what has started this process ends.

    ``ahead``: a program of this project comes, so what it and the stand-ins need is loaded now. Other programs may
    need no stand-in: it is loaded at the first request.
    """
    parent = os.getppid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    os.chdir(folder)  # the path of a socket has at most 108 bytes
    with contextlib.ExitStack() as stack:
        waiting: dict[socket.socket, Callable[[], None]] = {}
        for name, load in ((STAND_INS, stand_ins.load_all), (PYTHON, partial(interpreter.load, own=ahead))):
            Path(name).unlink(missing_ok=True)
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(name)
            listener.listen(16)  # who comes early waits for the imports
            waiting[listener] = load
        listeners = list(waiting)
        while os.getppid() == parent:
            for listener in listeners if ahead else ():
                _load(waiting, listener)
            for listener in select.select(listeners, [], [], _PAUSE_SECONDS)[0]:
                _load(waiting, listener)
                connection, _ = listener.accept()
                if os.fork() == 0:
                    stack.close()
                    _become(connection, Path.cwd())
                connection.close()
    sys.exit()


def _load(waiting: dict[socket.socket, Callable[[], None]], listener: socket.socket) -> None:
    if load := waiting.pop(listener, None):
        load()
        gc.freeze()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def _become(connection: socket.socket, own: Path) -> NoReturn:
    """Become the stand-in that the other end of the connection requests; ``own`` is the folder of the sockets."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(connection, _MAX_REQUEST, _STREAMS)
    while not request.endswith(b"\n"):
        part = connection.recv(_MAX_REQUEST)
        if not part:  # who has connected was killed
            os._exit(0)
        request += part
    name, arguments, environ, folder = ast.literal_eval(request.decode())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv[1:] = arguments
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    if name == interpreter.NAME:
        interpreter.run(arguments, connection, own / _PACKAGES)
    stand_ins.serve(name)
    os._exit(0)


def _end_with(connection: socket.socket) -> None:
    """End at once when the process that the engine started ends."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os._exit(0)
