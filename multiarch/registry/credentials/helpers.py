"""Docker's credential helpers: programs named ``docker-credential-NAME``.

Source: https://docs.docker.com/reference/cli/docker/login/#credential-helper-protocol
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal

from multiarch.registry.credentials.model import Credential
from multiarch.registry.decoding import decode_json
from multiarch.registry.errors import format_line

TIMEOUT = 30.0
"""Seconds that a helper may take: it may prompt the user."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_FOUND = ("credentials not found", "no credentials")
_TOKEN_USER = "<token>"  # noqa: S105 (means: the secret is an identity token)


class HelperError(Exception):
    """A credential helper failed; the message contains no secret."""


async def query_helper(name: str, server: str) -> Credential | None:
    """Return the credential that ``docker-credential-NAME get`` prints for ``server``, or None if it has none.

    Raises:
        HelperError: the helper is missing, fails, takes longer than ``TIMEOUT``, or prints something else.
    """
    program = f"docker-credential-{name}"
    if not _NAME.fullmatch(name):
        raise HelperError(f"{name!r} is not a valid helper name")
    found = shutil.which(program)
    if found is None:
        raise HelperError(f"{program} is not on PATH")
    code, output, errors = await _run(program, found, server)
    if code != 0:
        # By the protocol, errors are on standard output; never show a secret.
        if any(text in output.lower() for text in _NOT_FOUND):
            return None
        shown = "" if "Secret" in output else output
        raise HelperError(f"{program} failed ({format_line(shown or errors) or f'exit status {code}'})")
    return _read(program, output)


async def _run(program: str, found: str, server: str) -> tuple[int, str, str]:
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            found, "get", stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
    except OSError as error:
        raise HelperError(f"can't start {program} ({error.strerror})") from error
    try:
        async with asyncio.timeout(TIMEOUT):
            output, errors = await process.communicate(f"{server}\n".encode())
    except BaseException as error:
        # With all processes that it has started: they may outlive it.
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await process.communicate()
        if isinstance(error, TimeoutError):
            raise HelperError(f"{program} did not finish within {TIMEOUT:.0f} s") from error
        raise
    return process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")


def _read(program: str, output: str) -> Credential | None:
    try:
        answer = decode_json(output)
        user, secret = answer["Username"], answer["Secret"]
    except (ValueError, KeyError, TypeError):
        user = secret = None
    if not isinstance(user, str) or not isinstance(secret, str):
        raise HelperError(f"{program} did not print a credential")
    if not secret:
        return None
    if user == _TOKEN_USER:
        return Credential(identity_token=secret, source=program)
    return Credential(user, secret, source=program)
