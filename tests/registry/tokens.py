"""A token server: it speaks the distribution project's token specification and signs what the real registry checks.

A stand-in of ours for what Docker Hub and others run. It knows one account, and lets anybody pull below ``public/``.
Source: https://distribution.github.io/distribution/spec/auth/token/
"""

from __future__ import annotations

import base64
import binascii
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from sandbox.certificates import Pair

SERVICE = "registry.tests"
ISSUER = "token-server.tests"
REFRESH_TOKEN = "a-refresh-token-of-the-tests"  # noqa: S105
PUBLIC = "public/"


@dataclass(frozen=True, slots=True)
class Account:
    """Who may do everything."""

    user: str = "reader"
    password: str = "sesame"  # noqa: S105


@dataclass(slots=True)
class TokenServer:
    """A running token server; ``requests`` are in order: ``METHOD scope,scope by NAME``."""

    signer: Pair
    account: Account = field(default_factory=Account)
    expires_in: int = 300
    url: str = ""
    requests: list[str] = field(default_factory=list)

    def issue(self, scopes: list[str], *, user: str | None = None) -> str:
        """A signed token for what ``user`` may do of ``scopes`` (``repository:NAME:pull,push``)."""
        now = int(time.time())
        access = []
        for scope in scopes:
            kind, _, rest = scope.partition(":")
            name, _, actions = rest.rpartition(":")
            allowed = actions.split(",") if user else ["pull"] if name.startswith(PUBLIC) else []
            access.append({"type": kind, "name": name, "actions": allowed})
        claims = {
            "iss": ISSUER, "sub": user or "", "aud": SERVICE, "exp": now + self.expires_in, "nbf": now - 5,
            "iat": now, "jti": str(len(self.requests)), "access": access,
        }  # fmt: skip
        der = self.signer.certificate.public_bytes(serialization.Encoding.DER)
        header = {"typ": "JWT", "alg": "ES256", "x5c": [base64.b64encode(der).decode()]}
        signed = f"{_url64(json.dumps(header).encode())}.{_url64(json.dumps(claims).encode())}"
        r, s = decode_dss_signature(self.signer.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_url64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def user_of(self, authorization: str) -> str | None:
        """Whose Basic credentials these are; None for nobody's, PermissionError for wrong ones."""
        if not authorization:
            return None
        try:
            user, _, password = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        except binascii.Error as error:
            raise PermissionError from error
        if (user, password) != (self.account.user, self.account.password):
            raise PermissionError
        return user

    @contextmanager
    def running(self, tls: tuple[Path, Path] | None = None) -> Iterator[TokenServer]:
        """Serve on a free port of the loopback address, with TLS if a certificate's and its key's file are given."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}/token"
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _url64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _handler(tokens: TokenServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            scopes = [scope for text in parse_qs(urlsplit(self.path).query).get("scope", []) for scope in text.split()]
            try:
                user = tokens.user_of(self.headers.get("Authorization", ""))
            except PermissionError:
                tokens.requests.append(f"GET {','.join(scopes)} rejected")
                self.answer(401, {"details": "incorrect username or password"})
                return
            tokens.requests.append(f"GET {','.join(scopes)} by {user or 'anybody'}")
            self.hand_out("token", scopes, user)

        def do_POST(self) -> None:
            """The OAuth2 way, which identity tokens need."""
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            scopes = [scope for text in form.get("scope", []) for scope in text.split()]
            given = form.get("grant_type"), form.get("refresh_token"), form.get("service")
            if given != (["refresh_token"], [REFRESH_TOKEN], [SERVICE]):
                tokens.requests.append(f"POST {','.join(scopes)} rejected")
                self.answer(401, {"error": "invalid_grant"})
                return
            tokens.requests.append(f"POST {','.join(scopes)} by {tokens.account.user}")
            self.hand_out("access_token", scopes, tokens.account.user)

        def hand_out(self, key: str, scopes: list[str], user: str | None) -> None:
            self.answer(200, {key: tokens.issue(scopes, user=user), "expires_in": tokens.expires_in})

        def answer(self, status: int, value: dict[str, object]) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    return Handler
