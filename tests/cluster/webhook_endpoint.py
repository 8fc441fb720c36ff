"""The webhook as the API server reaches it: an HTTPS server of this process behind the installation's own Service.

It decides with the webhook's handler; what is known of an image is in its name.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from multiarch.facts.admission import INSTALLATION_NAME as NAME
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.handler import INVALID, Handler
from multiarch.webhook.model import NO_SECRETS, Answer, PodImage, PullSecretNames
from sandbox import certificates
from sandbox.certificates import Pair
from sandbox.cluster import helm
from sandbox.cluster.kube import Kube, Object
from tests.cluster.temporary import applied
from tests.webhook.stand_ins import answer_at_once

BOTH, AMD64_ONLY = "example.com/both:1", "example.com/amd64-only:1"
SIDECAR = "/sidecar"
_INVALID_MODE = "/mutate/invalid-mode"


class Named:
    """What is known of images: that is in their names."""

    def known(self, image: PodImage, secrets: PullSecretNames = NO_SECRETS) -> Answer | None:  # noqa: ARG002
        lacking = {Architecture.ARM64} if image.image == AMD64_ONLY else set()
        found = {each: Verdict.UNSUPPORTED if each in lacking else Verdict.SUPPORTED for each in Architecture}
        return tuple(Judgement(each, verdict, "as its name says", None) for each, verdict in found.items())

    async def look_up(
        self, images: Collection[PodImage], secrets: PullSecretNames = NO_SECRETS, *, seconds: float
    ) -> Mapping[PodImage, Answer]:
        raise AssertionError(f"known already: {images} {secrets} {seconds}")


@dataclass
class Endpoint:
    """A server at an address that EndpointSlices take. ``calls`` are the paths and the pods of the reviews."""

    authority: Pair
    folder: Path
    handler: Handler
    names: list[str]
    calls: list[tuple[str, Object]] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self._open: list[socket.socket] = []
        self._server: ThreadingHTTPServer | None = None
        certificate, key = certificates.issue(self.authority, self.names).write(self.folder, "endpoint")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._context = context

    def start(self) -> None:
        """Listen; at the same port as before, if there was one."""
        endpoint = self

        class Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                self.request = endpoint._context.wrap_socket(self.request, server_side=True)
                endpoint._open.append(self.request)
                super().setup()

            def finish(self) -> None:
                super().finish()
                self.request.close()

            def do_POST(self) -> None:
                body = endpoint.answer(
                    self.path.partition("?")[0], self.rfile.read(int(self.headers["Content-Length"]))
                )
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's)
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
                pass  # the client went away

        self._server = Server((host_address(), self.port), Requests)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    def stop(self) -> None:
        """Reject connections, and break those that are open, as if the process were killed."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def answer(self, path: str, body: bytes) -> bytes:
        """Answer a review as the webhook does."""
        pod = json.loads(body)["request"]["object"]
        self.calls.append((path, pod))
        if path == SIDECAR:
            return _with_sidecar(json.loads(body)["request"])
        if path == _INVALID_MODE:
            return answer_at_once(self.handler, body, INVALID)
        mode = path.removeprefix("/mutate").removeprefix("/")
        return answer_at_once(self.handler, body, mode)


def _with_sidecar(request: Object) -> bytes:
    """The answer of another webhook, which adds a sidecar for amd64 where there is none."""
    response = {"uid": request["uid"], "allowed": True}
    names = [each["name"] for each in request["object"]["spec"]["containers"]]
    if "sidecar" not in names:
        container = {"name": "sidecar", "image": AMD64_ONLY}
        patch = json.dumps([{"op": "add", "path": "/spec/containers/-", "value": container}])
        response |= {"patchType": "JSONPatch", "patch": b64encode(patch.encode()).decode()}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return json.dumps(review).encode()


def host_address() -> str:
    """An address of this machine that is not a loopback address; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("203.0.113.1", 9))
        return str(probe.getsockname()[0])


def chart_objects(configuration: Mapping[str, Any], *, name: str = NAME, **values: Any) -> list[Object]:
    """Return the namespace and the chart's objects in it; both have the name."""
    return helm.render_webhook({"image": BOTH, "name": name, "configuration": configuration, **values}, name)


@contextlib.contextmanager
def serving(kube: Kube, configuration: Mapping[str, Any], folder: Path, **values: Any) -> Iterator[Endpoint]:
    """Apply the chart's objects, whose Service leads here; everything is gone afterwards."""
    authority = certificates.authority()
    decided = WebhookConfiguration.model_validate(configuration)
    endpoint = Endpoint(authority, folder, Handler(decided, Named()), [f"{NAME}.{NAME}.svc"])
    endpoint.start()
    bundle = b64encode(authority.write(folder, "authority")[0].read_bytes()).decode()
    items = chart_objects(configuration, **values)
    for webhook in (webhook for each in items for webhook in each.get("webhooks", ())):
        webhook["clientConfig"]["caBundle"] = bundle
    try:
        with applied(kube, items):
            lead_to(kube, endpoint.port)
            yield endpoint
    finally:
        endpoint.stop()


def lead_to(kube: Kube, port: int) -> None:
    """Let the port ``https`` of the installation's Service lead to this machine, where no pod runs."""
    labels = {"kubernetes.io/service-name": NAME, "endpointslice.kubernetes.io/managed-by": "tests"}
    kube.apply(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{NAME}-host", "namespace": NAME, "labels": labels},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [host_address()], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        }
    )
