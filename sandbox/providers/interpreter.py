"""Run Python for Pulumi's language host, as ``python`` would, in a process that has the SDKs loaded.

A program needs half of its time to load them, and ``pip list``, which the host runs before each, to load pip.
"""

from __future__ import annotations

import atexit
import importlib
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


def run(arguments: Sequence[str], connection: socket.socket) -> NoReturn:
    """Run ``python SCRIPT …`` or ``python -m MODULE …``, then send the exit code and end."""
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
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
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
