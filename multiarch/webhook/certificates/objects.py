"""The two objects as the API server sends them: the state they hold, and the JSON patches of each step."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from multiarch.webhook.certificates.issuing import Pair
from multiarch.webhook.certificates.rotation import State

Object = Mapping[str, Any]

_SERVED = ("tls.crt", "tls.key", "ca.crt")
_PENDING = ("next-tls.crt", "next-tls.key", "next-ca.crt")
_ROTATED = "rotated"
"""When what is served took the place of another certificate, as RFC 3339 says it."""


def state(configuration: Object | None, secret: Object) -> State:
    """What both hold. What is not base64, or only a part of a certificate, counts as not there."""
    data = {key: _decoded(value) for key, value in (secret.get("data") or {}).items()}
    rotated = None
    with suppress(ValueError):  # missing, or written by somebody else
        rotated = datetime.fromisoformat(data.get(_ROTATED, b"").decode("ascii")).astimezone(UTC)
    bundles = None
    if configuration is not None:
        bundles = tuple(
            _decoded((entry.get("clientConfig") or {}).get("caBundle")) for entry in configuration.get("webhooks") or ()
        )
    return State(_pair(data, _SERVED), _pair(data, _PENDING), rotated, bundles)


def _pair(data: Mapping[str, bytes], keys: tuple[str, str, str]) -> Pair | None:
    found = [data.get(key, b"") for key in keys]
    return Pair(*found) if all(found) else None


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(str(value or ""), validate=True)
    except (binascii.Error, ValueError):
        return b""


def issued(secret: Object, pair: Pair) -> list[Object]:
    """Patch the Secret: ``pair`` is the next one to be served."""
    return _with_data(secret, _values(_PENDING, pair))


def served(secret: Object, pair: Pair, now: datetime) -> list[Object]:
    """Patch the Secret: ``pair`` is served from now on, and there is no next one."""
    return _with_data(secret, {**_values(_SERVED, pair), _ROTATED: _time(now)})


def marked(secret: Object, now: datetime) -> list[Object]:
    """Patch the Secret: the last rotation was now."""
    return _with_data(secret, {_ROTATED: _time(now)})


def _values(keys: tuple[str, str, str], pair: Pair) -> dict[str, bytes]:
    return dict(zip(keys, (pair.certificate, pair.key, pair.authority), strict=True))


def _time(now: datetime) -> bytes:
    return now.astimezone(UTC).isoformat(timespec="seconds").encode()


def _with_data(secret: Object, changed: Mapping[str, bytes]) -> list[Object]:
    """All data at once: a Secret without any has no ``data`` to add a key to."""
    kept = secret.get("data") or {}
    if _ROTATED in changed:
        # A rotation is over: there is no next certificate, or none that can be served.
        kept = {key: value for key, value in kept.items() if key not in _PENDING}
    data = {**kept, **{key: base64.b64encode(value).decode() for key, value in changed.items()}}
    return [_unchanged(secret), {"op": "add", "path": "/data", "value": data}]


def trusted(configuration: Object, bundle: bytes) -> list[Object]:
    """Patch the MutatingWebhookConfiguration: every entry trusts ``bundle``."""
    text = base64.b64encode(bundle).decode()
    return [
        _unchanged(configuration),
        *(
            {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": text}
            for index in range(len(configuration.get("webhooks") or ()))
        ),
    ]


def _unchanged(found: Object) -> Object:
    return {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}
