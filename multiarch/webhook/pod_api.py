"""The API server of the cluster that the webhook's pod runs in, with the rights of the pod's service account."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp

from multiarch.errors import MultiarchError, OutsideError
from multiarch.files import read_text

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT = aiohttp.ClientTimeout(total=5.0)
_LIMIT = 4 * 1024 * 1024
"""Maximum bytes of an answer. A Secret has at most 1 MiB."""


class PodApi:
    """Sends requests to the API server in sessions of the caller."""

    def __init__(self, server: str | None = None, account: Path = ACCOUNT) -> None:
        """Send nothing yet. Raises MultiarchError outside of a pod with a service account."""
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        self._server = server or f"https://{f'[{host}]' if ':' in host else host}:{port}"
        self._token = account / "token"
        try:
            if not (server or host):
                raise FileNotFoundError("KUBERNETES_SERVICE_HOST is not set")
            self._trust = ssl.create_default_context(cafile=str(account / "ca.crt"))
        except OSError as error:
            hint = "Run the webhook in a pod with a service account, or without Events and pull secrets."
            raise MultiarchError(f"The pod's service account can't be used: {error}.", hint=hint) from error
        # Not all tools that make clusters' own authorities set what Python 3.13 requires.
        self._trust.verify_flags &= ~ssl.VERIFY_X509_STRICT

    def open_session(self) -> aiohttp.ClientSession:
        """Open a session of one connection, for an ``async with`` statement."""
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=self._trust, limit=1), timeout=_TIMEOUT)

    async def request(
        self, session: aiohttp.ClientSession, method: str, path: str, value: Mapping[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Send an object, and return the status and the object of the answer: empty if it is not JSON.

        Raises OutsideError, which shows nothing that may be secret, if there is no answer.
        """
        try:
            # Read again each time: the kubelet renews the token.
            token = (await asyncio.to_thread(read_text, self._token)).strip()
            headers = {"Authorization": f"Bearer {token}"}
            url = f"{self._server}{path}"
            async with session.request(method, url, json=value, headers=headers, allow_redirects=False) as answer:
                content = bytearray()
                async for chunk in answer.content.iter_any():
                    content += chunk
                    if len(content) > _LIMIT:
                        raise OutsideError(f"the API server's answer has more than {_LIMIT} bytes")
                found = _object(bytes(content))
                return answer.status, found
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise OutsideError(type(error).__name__) from error


def _object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
