"""A live cluster's objects, read as JSON page by page without the fields that are not used, and changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

from multiarch.errors import MultiarchError, OutsideError
from multiarch.kubernetes.errors import ClusterError, ConflictError, ForbiddenError
from multiarch.kubernetes.resources import (
    EVICTIONS,
    JSON,
    LOGS,
    METADATA,
    NAMESPACES,
    PODS,
    REVIEWS,
    TEXT,
    ApiResource,
    strip_unused_fields,
)
from multiarch.kubernetes.source import ClusterAccess, LoadedObject, Source

if TYPE_CHECKING:
    from multiarch.kubernetes.client import ApiAnswer

PAGE = 500
"""Objects per answer. 500 pods are about 5 MB of JSON."""
_REDIRECT, _BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 300, 400, 401, 403, 404, 409
_GONE, _UNPROCESSABLE = 410, 422
"""A list's state that the API server has forgotten; and a JSON patch whose test fails."""
_TOO_MANY, _INTERNAL = 429, 500
_UNAVAILABLE = (502, 503, 504)
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"
"""In the API server's answer to the eviction of a pod that several budgets select."""
_BY_ADMISSION = re.compile(r"is forbidden: (?!User )|^admission webhook ")
"""In the API server's answer where not RBAC rejects, but a quota, Pod Security, an admission policy or a webhook."""


@contextmanager
def open_described_cluster(kubeconfig: str) -> Iterator[KubernetesCluster]:
    """Open a cluster by the text of a kubeconfig, to use in a ``with`` statement."""
    with NamedTemporaryFile("w", suffix=".json") as file:
        file.write(kubeconfig)
        file.flush()
        with KubernetesCluster(ClusterAccess(kubeconfig=Path(file.name))) as cluster:
            yield cluster


class KubernetesCluster:
    """One cluster. All methods raise ClusterError (exit code 3) when it can't be reached or rejects a request.

    What RBAC does not allow raises ForbiddenError, which says the rule that is missing. Safe to use from one thread
    at a time; a caller on an event loop reads in a thread of its own.
    """

    def __init__(self, access: ClusterAccess, *, first_wait: float = 0.5) -> None:
        """Run the exec plugin, but send nothing yet. Use it in a ``with`` statement.

        ``first_wait`` are seconds before the second attempt, doubled for later ones. Raises KubeconfigError for a
        kubeconfig that does not say how to reach a cluster, ClusterError for an exec plugin that fails.
        """
        from multiarch.kubernetes.client import ApiClient  # noqa: PLC0415 (a third of a second, for live clusters alone)

        self._client = ApiClient(access, first_wait=first_wait)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def name(self) -> str:
        """The context's name."""
        return self._client.connection.name

    @property
    def address(self) -> str:
        """The server's address in the kubeconfig."""
        return str(self._client.connection.configuration.host)

    def require_endpoint(self, endpoint: str, cluster: str) -> None:
        """Raise OutsideError if the kubeconfig is of another cluster than the one with this endpoint."""
        if self.address.rstrip("/").lower() != endpoint.rstrip("/").lower():
            message = f"The kubeconfig's context {self.name} is not of {cluster}."
            raise OutsideError(message, hint="Give the context of that cluster with --context.")

    @property
    def namespace(self) -> str:
        """The context's namespace, ``default`` if it names none."""
        return self._client.connection.namespace

    def objects(
        self,
        kinds: Iterable[ApiResource],
        *,
        namespaces: Sequence[str] | None = None,
        selector: str = "",
        fields: str = "",
        limit: int = PAGE,
    ) -> Iterator[LoadedObject]:
        """Yield objects of ``kinds`` in that order, as the API server sorts them: by namespace and name.

        ``namespaces`` None is all of them. ``selector`` is a label selector and ``fields`` a field selector, in
        kubectl's notation; both apply to all kinds. Objects without a namespace are listed whole. No more than one page
        of ``limit`` objects is held at a time. Objects are as
        :func:`multiarch.kubernetes.resources.strip_unused_fields` leaves them.

        Several pages show the cluster as it was at the first one. Raises ClusterError if the API server has forgotten
        that state meanwhile, which takes minutes.
        """
        chosen = None if namespaces is None else tuple(dict.fromkeys(namespaces))
        query = {"labelSelector": selector, "fieldSelector": fields, "limit": str(limit)}
        for resource in kinds:
            for namespace in chosen if chosen is not None and resource.namespaced else (None,):
                yield from self._listed(resource, namespace, query)

    def missing_namespaces(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of ``names`` that do not exist; the API server lists their objects as empty.

        A namespace that may not be read counts as existing.
        """
        missing = []
        for name in dict.fromkeys(names):
            answer = self._client.send("GET", NAMESPACES.path(None, name))
            if answer.status == _NOT_FOUND:
                missing.append(name)
            elif answer.status != _FORBIDDEN:
                self._value(answer, "get", NAMESPACES, None, name)
        return tuple(missing)

    def read_log_end(self, namespace: str, pod: str, container: str, *, previous: bool) -> str:
        """Return the last lines of a container's log, or with ``previous`` of its run before the one that goes on.

        A request that fails is not sent again: a node that does not answer keeps the API server waiting.
        """
        wanted = {"container": container, "tailLines": "10", "limitBytes": "16384", "previous": str(previous).lower()}
        path = f"{PODS.path(namespace, pod)}/log?{urlencode(wanted)}"
        answer = self._client.send("GET", path, busy=(), accept=TEXT)
        if answer.status == _NOT_FOUND:
            raise MultiarchError(f"There is no Pod {pod} any more.")
        self._value(answer, "get", LOGS, namespace, None)
        return answer.message

    def list_metadata(self, resource: ApiResource, selector: str) -> Iterator[dict[str, Any]]:
        """Yield the metadata of objects with these labels in all namespaces; of Secrets, never what they hold."""
        query = {"labelSelector": selector, "limit": str(PAGE)}
        yield from (each.value["metadata"] for each in self._listed(resource, None, query, METADATA))

    def list_custom(self, resource: ApiResource) -> list[dict[str, Any]]:
        """Return the objects of a custom resource; none where the cluster does not have its definition."""
        try:
            return [each.value for each in self._listed(resource, None, {"limit": str(PAGE)})]
        except ClusterError as error:
            if error.status == _NOT_FOUND:
                return []
            raise

    def get(self, resource: ApiResource, namespace: str | None, name: str) -> dict[str, Any] | None:
        """Return one object as the API server sends it, its latest state, or None if it does not exist."""
        answer = self._client.send("GET", resource.path(namespace, name))
        return None if answer.status == _NOT_FOUND else self._value(answer, "get", resource, namespace, name)

    def may(self, verb: str, resource: ApiResource, namespace: str = "") -> bool:
        """Return whether the user may do ``verb`` with a kind's objects, in all namespaces without one; ``*`` is any.

        Source: Kubernetes API reference, SelfSubjectAccessReview.
        """
        wanted = {"verb": verb, "group": resource.group, "resource": resource.plural, "namespace": namespace}
        value = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": {"resourceAttributes": wanted}}
        answer = self._client.send("POST", REVIEWS.path(), value)
        return bool(self._value(answer, "create", REVIEWS, None, None)["status"]["allowed"])

    def patch(
        self, resource: ApiResource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> None:
        """Change an object by a JSON patch that tests its ``resourceVersion``.

        Raises ConflictError if the object was changed or deleted since it was read.
        """
        path = resource.path(namespace, name)
        answer = self._client.send("PATCH", path, list(operations))
        if answer.status in (_CONFLICT, _UNPROCESSABLE):
            raise ConflictError(f"{resource.kind} {name} was changed meanwhile.", hint="Run the command again.")
        if answer.status == _NOT_FOUND:
            raise ConflictError(f"{resource.kind} {name} was deleted meanwhile.")
        self._value(answer, "patch", resource, namespace, name)

    def create(self, resource: ApiResource, namespace: str | None, value: Mapping[str, Any]) -> None:
        """Create an object. Raises ConflictError if there is one of its name, ClusterError without its namespace."""
        name = value["metadata"]["name"]
        answer = self._client.send("POST", resource.path(namespace), value)
        if answer.status == _CONFLICT:
            raise ConflictError(f"{resource.kind} {name} was created meanwhile.")
        if answer.status == _NOT_FOUND:
            raise ClusterError(f"There is no namespace {namespace}.", status=_NOT_FOUND)
        self._value(answer, "create", resource, namespace, name)

    def delete(self, resource: ApiResource, namespace: str | None, name: str) -> None:
        """Delete an object, as kubectl does; nothing happens if there is none of this name."""
        answer = self._client.send("DELETE", resource.path(namespace, name))
        if answer.status != _NOT_FOUND:
            self._value(answer, "delete", resource, namespace, name)

    def evict(self, namespace: str, name: str, uid: str) -> str:
        """Evict the pod with this ``uid`` by the eviction API, which PodDisruptionBudgets guard.

        Returns an empty string where the API server evicts it, or has no pod of this name; otherwise why not now, in
        the API server's words: a budget does not allow it, several budgets select the pod, or the pod of this name is
        another one. Nothing has happened then.
        Source: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
        """
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            # A request that reaches the server twice must not evict the pod's replacement of the same name.
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = f"{PODS.path(namespace, name)}/eviction"
        answer = self._client.send("POST", path, eviction, busy=_UNAVAILABLE)
        several = answer.status == _INTERNAL and _SEVERAL_BUDGETS in answer.message
        if answer.status in (_TOO_MANY, _CONFLICT) or several:
            return answer.message or "the API server allows no eviction now"
        if answer.status != _NOT_FOUND:
            self._value(answer, "create", EVICTIONS, namespace, name)
        return ""

    def _listed(
        self, resource: ApiResource, namespace: str | None, query: Mapping[str, str], accept: str = JSON
    ) -> Iterator[LoadedObject]:
        more = ""
        while True:
            words = {key: text for key, text in {**query, "continue": more}.items() if text}
            path = f"{resource.path(namespace)}?{urlencode(words, errors='replace')}"
            answer = self._client.send("GET", path, accept=accept)
            page = self._value(answer, "list", resource, namespace, None)
            # An empty list of metadata has null.
            if not isinstance(page.get("items", ""), list | None):
                hint = "Check that this is the address of an API server."
                raise ClusterError(f"{self._client.server} did not answer with a list of {resource.plural}.", hint=hint)
            more = (page.get("metadata") or {}).get("continue") or ""
            yield from (self._found(value, resource) for value in page.pop("items") or ())
            if not more:
                return

    def _found(self, value: dict[str, Any], resource: ApiResource) -> LoadedObject:
        # A list's items do not say what they are.
        whole = {**value, "apiVersion": resource.api_version, "kind": resource.kind}
        return LoadedObject(strip_unused_fields(whole), Source(f"cluster {self.name}"))

    def _value(
        self, answer: ApiAnswer, verb: str, resource: ApiResource, namespace: str | None, name: str | None
    ) -> dict[str, Any]:
        """Return what a request that succeeded returned. Raises for any other what :meth:`_rejection` makes of it."""
        if answer.status < _REDIRECT:
            return answer.value
        raise self._rejection(answer, verb, resource, namespace, name)

    def _rejection(
        self, answer: ApiAnswer, verb: str, resource: ApiResource, namespace: str | None, name: str | None
    ) -> MultiarchError:
        server, status = self._client.server, answer.status
        if status == _UNAUTHORIZED:
            user, renew = self._client.connection.user, self._client.connection.renew
            whose = f" of user {user}" if user else ""
            return ClusterError(f"{server} rejects the credentials{whose}.", hint=renew, status=status)
        what = f"{verb} {resource.plural}{f' {name}' if name else ''}"
        said = answer.message.rstrip(".")
        if status == _FORBIDDEN and not _BY_ADMISSION.search(said):
            return ForbiddenError(verb, resource, namespace, name, said)
        if status == _NOT_FOUND and name:
            return MultiarchError(f"There is no {resource.kind} {name} in the cluster of context {self.name}.")
        said = f": {said}" if said else ""
        if status == _BAD_REQUEST:
            return MultiarchError(f"{server} rejects {what}{said}.", hint="Check the selector.")
        hint = "Try again later." if status in (_GONE, _TOO_MANY) or status >= _INTERNAL else ""
        return ClusterError(f"{server} answered {what} with status {status}{said}.", hint=hint, status=status)
