"""Pull secrets from the cluster that the webhook runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from multiarch.errors import MultiarchError, OutsideError
from multiarch.kubernetes.errors import ForbiddenError, find_user
from multiarch.kubernetes.resources import SECRETS
from multiarch.registry.credentials.pull_secrets import PullSecrets
from multiarch.webhook.images.secrets import SecretSet, clause, usable
from multiarch.webhook.model import PullSecretNames
from multiarch.webhook.pod_api import PodApi

READ_SECONDS = 5.0
"""Maximum seconds to wait for the API server, which is queried for all secrets of a pod one after the other."""
_OK, _FORBIDDEN, _NOT_FOUND = 200, 403, 404


class ClusterSecrets:
    """Reads secrets from the API server."""

    def __init__(self, opened: Callable[[], PodApi] = PodApi) -> None:
        """``opened`` makes the API, for each reading: its certificate authority may change."""
        self._opened = opened

    async def read(self, names: PullSecretNames) -> SecretSet:
        """Return what the secrets hold now."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._read(names)
        except TimeoutError:
            fault = f"the API server did not send the pull secrets within {READ_SECONDS:g} s"
        except MultiarchError as error:
            fault = f"pull secrets can't be read: {clause(error)}"
        return SecretSet(PullSecrets(()), (fault,), complete=False)

    async def _read(self, names: PullSecretNames) -> SecretSet:
        found: list[dict[str, Any]] = []
        faults: list[str] = []
        complete = True
        api = self._opened()
        async with api.open_session() as session:
            for name in names.names:
                path = SECRETS.path(names.namespace, name)
                try:
                    status, value = await api.request(session, "GET", path)
                    if status not in (_OK, _NOT_FOUND):
                        raise _refused(status, value, names.namespace, name)
                except OutsideError as error:
                    faults.append(f"Secret {names.namespace}/{name} can't be read: {clause(error)}")
                    complete = False
                    continue
                if status == _OK:
                    found.append(value)
                else:
                    faults.append(f"Secret {names.namespace}/{name} does not exist")
        return usable(found, faults, complete=complete)


def _refused(status: int, value: dict[str, Any], namespace: str, name: str) -> OutsideError:
    if status != _FORBIDDEN:
        return OutsideError(f"the API server answered with status {status}.")
    user = find_user(str(value.get("message")))
    return ForbiddenError(verb="get", resource="secrets", group="", namespace=namespace, name=name, user=user)
