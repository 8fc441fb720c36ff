"""Run Python for Pulumi's language host, as ``python`` would, in a process that has the SDKs loaded.

A program needs half of its time to load them, and ``pip list``, which the host runs before each, to load pip.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import json
import os
import runpy
import socket
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

NAME: Final = "python"
_MODULES: Final = ("pip._internal.commands.list", "pulumi")
# What a program of this project loads of others besides.
_MODULES_OF_OWN: Final = (
    *("boto3", "botocore.client", "cronsim", "pulumi_eks", "pulumi_kubernetes", "yaml"),
    *("pydantic.json_schema", "pydantic.main", "pydantic.types"),
    *(f"pulumi_aws.{each}" for each in ("autoscaling", "cloudwatch", "ec2", "eks", "iam", "kms", "sqs", "ssm")),
)
_OWN: Final = frozenset({"components", "multiarch", "sandbox", "tools"})
_CLONE: Final = str(Path(__file__).resolve().parents[2])
"""On the module path of this process."""
_FAILED: Final = 1


def load(*, own: bool) -> None:
    """Load what programs need; of this project nothing: its modules are those beside the program.

    ``own``: also the modules of others that this project's program needs.
    """
    for name in (*_MODULES, *(_MODULES_OF_OWN if own else ())):
        hasattr(importlib.import_module(name), "at the first look the SDKs load the module")
    import pulumi  # noqa: PLC0415 (the AWS server does without it)

    pulumi.log.debug = _ignore


def _ignore(*_arguments: object, **_options: object) -> None:
    """Take the place of ``pulumi.log.debug``.

    The SDK sends several messages for each resource, and waits for each: a sixth of the time of a Pulumi command.
    """


def run(arguments: Sequence[str], connection: socket.socket, kept: Path) -> NoReturn:
    """Run ``python SCRIPT …`` or ``python -m MODULE …``, then send the exit code and end.

    The file ``kept`` has what pip listed last; see :func:`_list_packages`.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] in _OWN]:
        del sys.modules[name]
    code = _FAILED

    def report() -> None:
        """Send the exit code, at the end of all that a program does when it ends."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        connection.sendall(bytes([code]))
        os._exit(code)

    atexit.register(report)
    rest = [each for each in sys.path if each not in ("", _CLONE)]
    added = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    try:
        if arguments[0] == "-m":
            sys.argv[:] = arguments[1:]
            sys.path[:] = [os.getcwd(), *added, *rest]  # noqa: PTH109 (as Python does)
            _list_packages(arguments, kept)
        else:
            sys.argv[:] = arguments
            sys.path[:] = [str(Path(arguments[0]).parent), *added, *rest]
            runpy.run_path(arguments[0], run_name="__main__")
        code = 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        code = ended.code if isinstance(ended.code, int) else _FAILED if ended.code else 0
    except BaseException:  # noqa: BLE001 (as Python does)
        traceback.print_exc()
    sys.exit(code)


def _list_packages(arguments: Sequence[str], kept: Path) -> None:
    """Run ``python -m pip list …``, or print what it printed for the same arguments and packages: it reads them all.

    Whoever installs or removes a package changes a folder of the module path. The first is the program's own, in which
    pip looks for none, and in which the sandbox writes before each command.
    """
    folders = [(each, Path(each).stat().st_mtime_ns) for each in sys.path[1:] if Path(each).is_dir()]
    key = json.dumps([arguments, folders])
    with contextlib.suppress(OSError, ValueError):
        known, printed = json.loads(kept.read_text(encoding="utf-8"))
        if known == key:
            sys.stdout.write(printed)
            return
    with contextlib.redirect_stdout(io.StringIO()) as caught:
        try:
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            if ended.code:  # without the output: `connect.py` runs it again
                raise
    sys.stdout.write(caught.getvalue())
    own = kept.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        own.write_text(json.dumps([key, caught.getvalue()]), encoding="utf-8")
        own.replace(kept)
