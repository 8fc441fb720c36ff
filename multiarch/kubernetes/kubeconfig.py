"""Which cluster and with which credentials: the official client reads kubeconfigs as kubectl does.

Three things are not left to the client, to be as in kubectl: the first ``current-context`` of several files counts, an
exec plugin that fails is an error, and ``proxy-url`` is used.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import getproxies

from kubernetes.client import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.incluster_config import SERVICE_TOKEN_FILENAME, load_incluster_config
from kubernetes.config.kube_config import ConfigNode, KubeConfigLoader, KubeConfigMerger
from yaml import YAMLError

from multiarch.errors import MultiarchError
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.source import ClusterAccess
from multiarch.registry.errors import format_line

_HOW = "Create one with `aws eks update-kubeconfig --region REGION --name CLUSTER`, or pass one with --kubeconfig."
_EXPIRED = "The credentials have expired, or are of another cluster: renew them."
_MISSING = "The kubeconfig has no credentials for it: `aws eks update-kubeconfig` adds them."
_Nodes = dict[str, ConfigNode]


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach one cluster. ``name`` is the context's; ``renew`` is the hint where the credentials are rejected.

    ``authorization`` is the value of a header, empty without a token or a password.
    """

    name: str
    namespace: str
    user: str
    renew: str
    configuration: Configuration = field(repr=False)
    authorization: str = field(repr=False)


def read_connection(access: ClusterAccess) -> Connection:
    """Return how to reach a cluster: by the kubeconfig given, else KUBECONFIG's files, else ``~/.kube/config``.

    Without any of them, and without a context, it is the pod's service account. Runs the user's exec plugin. Raises
    KubeconfigError for a kubeconfig that does not work, and ClusterError for an exec plugin that does not.
    """
    files = str(access.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config")
    with _one_error(files):
        merger = KubeConfigMerger(files)
        if merger.config is not None:
            return _from_files(files, merger, access.context)
        in_pod = "KUBERNETES_SERVICE_HOST" in os.environ and Path(SERVICE_TOKEN_FILENAME).is_file()
        if in_pod and access.context is None and access.kubeconfig is None:
            return _from_service_account()
    raise KubeconfigError(f"No kubeconfig found: {files} does not exist.", hint=_HOW)


@contextmanager
def _one_error(files: str) -> Iterator[None]:
    """Turn what the client raises into one error; its own messages may show a user with its token."""
    try:
        yield
    except MultiarchError:
        raise
    except OSError as error:
        raise KubeconfigError(f"{error.filename or files} can't be read: {error.strerror}.", hint=_HOW) from None
    except (ConfigException, YAMLError, AttributeError, LookupError, TypeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        said = f"{mark.name}:{mark.line + 1}: not valid YAML" if mark else f"{files} is not a valid kubeconfig"
        if str(error).startswith("File does not exist"):
            said += f": {error}"
        raise KubeconfigError(f"{said}.", hint=_HOW) from None


def _from_files(files: str, merger: KubeConfigMerger, chosen: str | None) -> Connection:
    contexts, clusters, users = (
        {node["name"]: node for node in merger.config.value[part]} for part in ("contexts", "clusters", "users")
    )
    current = (each.get("current-context") for each in merger.config_files.values())
    name = chosen or next(filter(None, current), None)
    if not name:
        hint = f"Choose one with --context: {', '.join(sorted(contexts))}." if contexts else _HOW
        raise KubeconfigError(f"{files} does not set current-context.", hint=hint)
    context = _named(contexts, name, f"{files} has no context")["context"].value
    cluster = _named(clusters, context.get("cluster"), f"{files}: context {name} names cluster")["cluster"].value
    user = _named(users, context["user"], f"{files}: context {name} names user") if context.get("user") else None
    if not str(cluster.get("server")).startswith(("https://", "http://")):
        raise KubeconfigError(f"{files}: cluster {context['cluster']} needs a server that starts with https://.")
    renew = _run_plugin(user, ConfigNode("cluster", cluster)) if user else _MISSING
    configuration = Configuration()
    KubeConfigLoader(merger.config, active_context=name, config_base_path=None).load_and_set(configuration)
    _set_proxy(configuration, cluster.get("proxy-url") or "")
    return Connection(
        name,
        context.get("namespace") or "default",
        context.get("user") or "",
        renew,
        configuration,
        _authorization(configuration, f"{files}: the token of user {context.get('user')}"),
    )


def _from_service_account() -> Connection:
    """Return the connection of the pod that this runs in. The kubelet renews its token."""
    configuration = Configuration()
    load_incluster_config(configuration)
    _set_proxy(configuration, "")
    namespace = Path(SERVICE_TOKEN_FILENAME).with_name("namespace").read_text(encoding="utf-8").strip()
    authorization = _authorization(configuration, f"The token in {SERVICE_TOKEN_FILENAME}")
    return Connection("in-cluster", namespace, "the pod's service account", _EXPIRED, configuration, authorization)


def _set_proxy(configuration: Configuration, url: str) -> None:
    """Use this proxy, or without one the environment's for the server's scheme: the client would use HTTP_PROXY."""
    found = getproxies()
    own = found.get(configuration.host.partition(":")[0], "")
    configuration.proxy = url or (own if "://" in own or not own else f"http://{own}")
    configuration.no_proxy = "" if url else found.get("no", "")


def _named(nodes: _Nodes, name: str | None, said: str) -> ConfigNode:
    if name not in nodes:
        hint = f"There are: {', '.join(sorted(nodes))}." if nodes else _HOW
        raise KubeconfigError(f"{said} {name}, which does not exist.", hint=hint)
    return nodes[name]


def _authorization(configuration: Configuration, source: str) -> str:
    """Return the header's value, without white space around a token. Raises KubeconfigError, which does not show it."""
    scheme, _, token = configuration.api_key.get("BearerToken", "").partition(" ")
    token = token.strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise KubeconfigError(f"{source} holds characters that no token has.", hint="Write the token on one line.")
    # A port of this machine may be a tunnel's; nobody else sees what goes there.
    here = re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])(:|/|$)", configuration.host)
    if token and not here and not configuration.host.startswith("https://"):
        raise KubeconfigError(
            f"{source} would be sent over http, in clear text.",
            hint="Use the server's https:// address, or a context without a user: `kubectl proxy` needs none.",
        )
    return f"{scheme} {token}" if token else ""


def _run_plugin(user: ConfigNode, cluster: ConfigNode) -> str:
    """Put what the user's exec plugin prints in its place, unless a token counts; return the hint for a rejection."""
    section: dict[str, Any] = user.value["user"]
    if not section:
        return _MISSING
    if "exec" not in section or section.get("token") or section.get("tokenFile"):
        return _EXPIRED
    plugin = section.pop("exec")
    command = plugin["command"]
    program = Path(command).name
    title = f"{program}, the exec plugin of user {user.value['name']} in {user.path},"
    try:
        status = ExecProvider(ConfigNode("exec", plugin), str(Path(user.path).parent.absolute()), cluster).run()
    except OSError as error:
        hint = format_line(str(plugin.get("installHint") or f"Install {program}, or put its folder on PATH"))
        raise ClusterError(f"{title} can't be run: {error.strerror}.", hint=f"{hint}.") from None
    except ConfigException as error:
        said = format_line(str(error).splitlines()[-1].removeprefix("exec: "))
        hint = "Log in to the AWS CLI first, for example with `aws sso login`." if program.startswith("aws") else ""
        raise ClusterError(f"{title} failed: {said}.", hint=hint) from None
    if status.get("token"):
        section["token"] = status["token"]
    elif status.get("clientCertificateData") and status.get("clientKeyData"):
        for key, name in (("client-certificate-data", "clientCertificateData"), ("client-key-data", "clientKeyData")):
            section[key] = base64.b64encode(status[name].encode()).decode()
    else:
        raise ClusterError(f"{title} printed neither a token nor a certificate.")
    return f"The token of {program} is rejected: check that its IAM identity has an EKS access entry."
