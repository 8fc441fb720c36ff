"""``multiarch webhook serve``: answer the API server's reviews of new pods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multiarch.errors import MultiarchError, OutsideError
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.configuration import load_configuration
from multiarch.webhook.logs import LogLevel

HELP = """Run the server that the API server calls for new pods.

It listens with HTTPS for the API server, and with HTTP for probes and metrics. For each new pod it looks at all images
(init, sidecar and ephemeral containers, image volumes). If every image supports every required architecture, the pod
gets the tolerations of the nodes' taints; otherwise it is left as it is. A pod is always admitted, and waits at most
deadlineSeconds (1.5 s) for registries.

\b
  /mutate                 POST: AdmissionReview v1; the mode is the configuration's
  /mutate/MODE            the same in mode tolerate, prefer, pin or observe
  /livez, /healthz        GET: 200 as long as the process answers
  /readyz                 GET: 200; 503 while shutting down, and with an expired certificate
  /metrics                GET: metrics for Prometheus

The certificate's folder has tls.crt and tls.key, as a Secret of type kubernetes.io/tls. Changed files are in use within
seconds; a broken pair is not taken. The configuration's keys are those of admissionWebhook.configuration in a stack
file (docs/reference/stack-keys.md).

On SIGTERM /readyz fails, requests are answered for --drain-seconds more, and those under way are finished. A second
signal ends the process at once.

\b
Examples:
  multiarch webhook serve --certificate-dir /certificates --config /etc/multiarch/webhook.yaml
  multiarch webhook serve --certificate-dir certs --address 127.0.0.1

Exit code: 0 after a signal; 2 for an invalid configuration or certificate; 3 if a port can't be used; 128 and the
signal's number if a second signal ended it."""


def serve(
    *,
    certificate_dir: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder with tls.crt and tls.key; changes are noticed.")
    ],
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The configuration, YAML. Default: all defaults.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Listen on this address only. Default: on all.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="The port for HTTPS.")] = 8443,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="The port for probes and metrics over HTTP.")
    ] = 8080,
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=600.0,
            metavar="SECONDS",
            help="Answer for so long after SIGTERM; with 6 s more, less than terminationGracePeriodSeconds.",
        ),
    ] = 5.0,
    log_level: Annotated[
        LogLevel,
        typer.Option(
            metavar="debug|info|warning|error",
            help="Of the log, JSON lines on stderr. Decisions are info, warning if an image could not be read. debug "
            "has all: also skipped pods, and each repetition.",
        ),
    ] = LogLevel.INFO,
) -> None:
    """Run the webhook, as :data:`HELP` says."""
    try:
        # Their packages are in the extra `webhook`.
        from multiarch.webhook import service  # noqa: PLC0415
        from multiarch.webhook.server import Listening  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise _incomplete(error) from error
    configuration = WebhookConfiguration() if config is None else load_configuration(config)
    options = service.ServiceOptions(
        certificate_dir,
        Listening(address, port, metrics_port, body_bytes=configuration.limits.body_kib * 1024),
        log_level,
        drain_seconds,
    )
    service.run_service(configuration, options)


def _incomplete(error: ModuleNotFoundError) -> MultiarchError:
    if (error.name or "").startswith("multiarch"):
        raise error
    return OutsideError(
        f"The Python package {error.name} is not installed.", hint='Run `pip install "multiarch-eks[webhook]"`.'
    )
