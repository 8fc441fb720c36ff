"""Connections to one API server: trust, proxy, and a deadline that holds for every step of a request."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from multiarch.kubernetes.errors import KubeconfigError
from multiarch.kubernetes.kubeconfig import Connection

_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)


class Watch:
    """Shuts down the connection of the current request at its deadline.

    A timeout of a socket bounds one wait for data. A server that sends a byte now and then, in headers or in the
    body, would keep a request open for ever.
    """

    def __init__(self) -> None:
        """Watch nothing yet."""
        self._connection: HTTPConnection | None = None
        self._socket: object = None
        self.expired = False

    def connecting(self, connection: HTTPConnection) -> None:
        """Watch a connection that is being opened."""
        self._connection, self._socket = connection, None

    def connected(self, connection: HTTPConnection) -> None:
        """Watch its socket, which the connection forgets before the end of a response that closes it."""
        self._socket = connection.sock

    @contextlib.contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Bound what is done inside. ``expired`` says afterwards whether the time was up."""
        self.expired = False
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _expire(self) -> None:
        self.expired = True
        found = self._socket or getattr(self._connection, "sock", None)
        # TLS inside of a TLS connection to a proxy is an object around the socket.
        inner = getattr(found, "socket", found)
        if isinstance(inner, socket.socket):
            with contextlib.suppress(OSError):
                # Not the method of TLS sockets, which another thread may be reading from.
                socket.socket.shutdown(inner, socket.SHUT_RDWR)


def open_pool(
    connection: Connection, certificate: bytes | None, key: bytes | None, watch: Watch
) -> urllib3.PoolManager:
    """A pool for one server, directly or through a proxy. Nothing is sent yet.

    Raises KubeconfigError for invalid certificates, and for a proxy that can't be used.
    """
    options: dict[str, Any] = {"timeout": _TIMEOUT, "maxsize": 2}
    if connection.server.startswith("https://"):
        options["ssl_context"] = tls_context(connection, certificate, key)
        options["assert_hostname"] = False if connection.insecure else None
        if connection.server_name:
            options["server_hostname"] = connection.server_name
    proxy = _proxy(connection)
    pool: urllib3.PoolManager
    if proxy is None:
        pool = urllib3.PoolManager(**options)
    else:
        headers = None if proxy.auth is None else {"Proxy-Authorization": basic(*_user_and_password(proxy.auth))}
        address = Url(proxy.scheme, None, proxy.host, proxy.port).url
        pool = urllib3.ProxyManager(address, proxy_headers=headers, **options)
    pool.pool_classes_by_scheme = _watched(watch)
    return pool


def basic(user: str, password: str) -> str:
    """The value of a header for Basic authentication, in UTF-8 as Go's."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode(errors='replace')).decode()}"


def _watched(watch: Watch) -> dict[str, type[HTTPConnectionPool]]:
    class Plain(HTTPConnection):
        def connect(self) -> None:
            watch.connecting(self)
            super().connect()
            watch.connected(self)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            watch.connecting(self)
            super().connect()
            watch.connected(self)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


def tls_context(connection: Connection, certificate: bytes | None = None, key: bytes | None = None) -> ssl.SSLContext:
    """What a connection trusts, with the client's own pair if there is one. Raises KubeconfigError."""
    try:
        context = ssl.create_default_context(cadata=connection.authority)
    except (ssl.SSLError, ValueError, TypeError) as error:  # TypeError: not ASCII
        message = f"{connection.file}: the certificate-authority of context {connection.name} is not a PEM certificate."
        raise KubeconfigError(message, hint="Recreate the kubeconfig.", file=connection.file) from error
    # Many tools make clusters' own authorities, and not all set what Python 3.13 requires.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None and key is not None:
        _load_pair(context, connection, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, connection: Connection, certificate: bytes, key: bytes) -> None:
    """OpenSSL loads a pair from files only: the file exists for a moment, readable by its owner only."""
    with tempfile.TemporaryDirectory(prefix="multiarch-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(certificate + b"\n" + key)
        try:
            context.load_cert_chain(pair, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            message = f"The client certificate and key of user {connection.user.name} are not a matching PEM pair."
            raise KubeconfigError(
                message, hint="A key with a password is not supported.", file=connection.file
            ) from error


def _no_password() -> str:
    raise ValueError("a password is asked for")


def _proxy(connection: Connection) -> Url | None:
    """The kubeconfig's proxy, or the environment's, unless NO_PROXY excepts the server."""
    text, where = connection.proxy, "proxy-url in the kubeconfig"
    if not text:
        server = parse_url(connection.server)
        text = None if proxy_bypass(server.netloc or "") else getproxies().get(server.scheme or "")
        if not text:
            return None
        where = f"{str(server.scheme).upper()}_PROXY"
        text = text if "://" in text else f"http://{text}"
    try:
        found = parse_url(text)
    except LocationParseError:
        found = Url()
    if found.scheme not in ("http", "https") or not found.host or not text.isprintable():
        # The value is not shown: it may contain a password.
        hint = f"Set {where} to http://HOST:PORT or https://HOST:PORT."
        raise KubeconfigError(f"The proxy for {connection.server} can't be used.", hint=hint)
    return found


def _user_and_password(auth: str) -> tuple[str, str]:
    user, _, password = auth.partition(":")
    return unquote(user), unquote(password)
