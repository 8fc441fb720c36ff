"""moto's server on loopback, one request at a time, with the sandbox's additions."""

from __future__ import annotations

import functools
import logging
import re
import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from http import HTTPStatus
from io import BytesIO
from typing import Any

from moto import backends
from moto.core import responses, serialize, utils
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server

from sandbox.aws import controls, ec2_fixes, eks, faults, fleets, images
from sandbox.aws.remote import PREFIX

_SCOPE = re.compile(r"Credential=[^/]+/\d+/(?P<region>[a-z0-9-]+)/(?P<service>[a-z0-9-]+)/aws4_request")
# ReceiveMessage may wait for seconds, and must not block other requests.
_UNLOCKED = frozenset({"sqs"})
_MISSING = object()
_NAMES: dict[tuple[type, type, object, str], tuple[str, ...]] = {}


class QuietHandler(MotoRequestHandler):
    """Logs failed requests only."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:  # noqa: ARG002 (werkzeug's signature)
        """Ignore successful requests."""
        if str(code).startswith("5"):
            logging.getLogger(__name__).warning("%s answered %s", self.requestline, code)


class SandboxApp:
    """WSGI application: moto behind a lock, because its backends are not thread-safe.

    Run Command and ``controls`` are answered in front of it.
    """

    def __init__(self) -> None:
        """Install the additions; backends are loaded at first use."""
        eks.install()
        ec2_fixes.install()
        fleets.install()
        faults.install()
        # moto looks for its services in its folder at every request.
        services = frozenset(backends.list_of_moto_modules())
        backends.list_of_moto_modules = lambda: services
        # And for the methods of a service's class.
        responses.method_names_from_class = functools.cache(  # type: ignore[attr-defined] # what it imports
            utils.method_names_from_class
        )
        # And, for each value of an answer, for the names that an object may have it under.
        serialize.AttributePicker.__call__ = _pick_value  # type: ignore[method-assign, assignment]
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self.controls = controls.Controls()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Seed the request's region with EKS's images, then answer."""
        path, body = environ["PATH_INFO"], _body(environ)
        if path.startswith(PREFIX):
            return _plain(start_response, *self.controls.answer(environ["REQUEST_METHOD"], path, body))
        if path == "/moto-api/reset":
            self.controls.empty()
        scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if self.controls.ssm.serves(target):
            self.controls.calls.append(("ssm", target.rpartition(".")[2]))
            return _plain(start_response, *self.controls.ssm.answer(target, body))
        free = scope is not None and scope["service"] in _UNLOCKED
        with nullcontext() if free else self._lock:
            if scope is not None and scope["service"] in ("ec2", "ssm", "eks", "autoscaling"):
                images.ensure_region(scope["region"])
            return list(self._moto(environ, start_response))


def _pick_value(picker: serialize.AttributePicker, context: serialize.AttributePickerContext) -> Any:  # noqa: ANN401 (any value of an answer)
    """Return the value that moto finds.

    The names under which it looks depend on the object's class and the place in the API's model: they are found once.
    """
    which = (type(picker), type(context.obj), context.shape, context.key)
    if which not in _NAMES:
        _NAMES[which] = tuple(dict.fromkeys(picker.get_possible_keys(context)))
    values = (utils.get_value(context.obj, name, _MISSING) for name in _NAMES[which])
    value = next((each for each in values if each is not _MISSING), None)
    path = f"{context.key_path}.{context.key}"
    if path.endswith(tuple(picker.response_transformers)):
        return next(change for end, change in picker.response_transformers.items() if path.endswith(end))(value)
    return value


def create_server(port: int = 0) -> BaseWSGIServer:
    """Return a threaded server on 127.0.0.1; port 0 takes a free one. Call ``serve_forever`` on it."""
    return make_server("127.0.0.1", port, SandboxApp(), threaded=True, request_handler=QuietHandler)


def _body(environ: dict[str, Any]) -> bytes:
    """Return the request's body, which can be read once more by others. Empty for chunked ones."""
    length = environ.get("CONTENT_LENGTH")
    if not length:
        return b""
    body: bytes = environ["wsgi.input"].read(int(length))
    environ["wsgi.input"] = BytesIO(body)
    return body


def _plain(start_response: Callable[..., Any], status: int, body: bytes) -> Iterable[bytes]:
    line = f"{status} {HTTPStatus(status).phrase}"
    start_response(line, [("Content-Type", "application/x-amz-json-1.1"), ("Content-Length", str(len(body)))])
    return [body]
