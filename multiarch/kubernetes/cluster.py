"""A live cluster's objects: listed and decoded page by page, without the fields that are not used."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from urllib3.util import parse_url

from multiarch import __version__
from multiarch.errors import MultiarchError
from multiarch.kubernetes.access import ClusterAccess
from multiarch.kubernetes.errors import ClusterError, ConflictError, ForbiddenError
from multiarch.kubernetes.kubeconfig import Connection, connection
from multiarch.kubernetes.resources import EVICTIONS, RESOURCES, SECRETS, Kind, Resource, check_types, lean
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.kubernetes.transport import StatusError, TooLargeError, Transport
from multiarch.manifests.values import ManifestError, ObjectReference, Value

PAGE = 500
"""Objects per answer. 500 pods are about 5 MB of JSON."""
LIST_OBJECTS = 300_000
"""The most objects of a list: twice the pods that Kubernetes supports in a cluster.

Source: https://kubernetes.io/docs/setup/best-practices/cluster-large/
"""
LIST_SECONDS = 1800.0
"""The most seconds that a list's answers may take together."""
_SPARSE_PAGES = 100
"""The most pages of a list that are less than half full. A page may be empty, and still not the last."""
_SMALLER = 10
_RESTARTS = 3
_BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _GONE = 400, 401, 403, 404, 409, 410
_UNPROCESSABLE = 422
"""Also for a JSON patch whose test fails."""
_TOO_MANY, _INTERNAL = 429, 500
_UNAVAILABLE = (502, 503, 504)
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"
"""In the API server's answer to the eviction of a pod that several budgets select."""
_NOT_KUBERNETES = "Check that this is the address of an API server."
_USER = re.compile(r'User "([^"]*)"')
_BY_ADMISSION = re.compile(r"is forbidden: (?!User )|^admission webhook ")
"""In the API server's answer where not RBAC refuses, but a quota, Pod Security, an admission policy or a webhook."""


def open_cluster(access: ClusterAccess) -> Cluster:
    """A cluster to read from, in a ``with`` statement. Nothing is sent yet.

    Raises KubeconfigError for a kubeconfig that does not say how to reach it.
    """
    return Cluster(connection(kubeconfig=access.kubeconfig, context=access.context))


class Cluster:
    """One cluster. All methods raise ClusterError (exit code 3) when it can't be reached or refuses.

    What RBAC does not allow raises ForbiddenError, which says the rule that is missing. Safe to use from one thread
    at a time; a caller on an event loop reads in a thread of its own.
    """

    def __init__(self, found: Connection, *, first_wait: float = 0.5) -> None:
        """Use :func:`open_cluster`; ``first_wait`` is the transport's."""
        self._connection = found
        self._transport = Transport(found, agent=f"multiarch/{__version__}", first_wait=first_wait)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self._transport.close()

    @property
    def name(self) -> str:
        """The context's name."""
        return self._connection.name

    @property
    def namespace(self) -> str:
        """The context's namespace, ``default`` if it names none."""
        return self._connection.namespace or "default"

    def objects(
        self,
        kinds: Iterable[Kind],
        *,
        namespaces: Sequence[str] | None = None,
        selector: str = "",
        fields: str = "",
        limit: int = PAGE,
    ) -> Iterator[LoadedObject]:
        """Yield objects of ``kinds`` in that order, as the API server sorts them: by namespace and name.

        ``namespaces`` None is all of them. ``selector`` is a label selector and ``fields`` a field selector, in
        kubectl's notation; both apply to all kinds. Objects without a namespace are listed whole, except that only the
        named Namespaces are read. No more than one page of ``limit`` objects is held at a time. Objects are as
        :func:`multiarch.kubernetes.resources.lean` leaves them.

        Several pages show the cluster as it was when the first was asked for, unless the API server has forgotten
        that state meanwhile: then the list starts again, and no object is yielded twice.
        """
        chosen = None if namespaces is None else tuple(dict.fromkeys(namespaces))
        for kind in kinds:
            resource = RESOURCES[kind]
            if kind is Kind.NAMESPACE and chosen is not None:
                yield from (self._found(self._get(resource, None, name), resource) for name in chosen)
                continue
            for namespace in chosen if chosen is not None and resource.namespaced else (None,):
                yield from self._listed(resource, namespace, selector, fields, limit)

    def missing_namespaces(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of ``names`` that do not exist; the API server lists their objects as empty.

        A namespace that may not be read counts as existing.
        """
        missing = []
        for name in dict.fromkeys(names):
            try:
                self._transport.get(RESOURCES[Kind.NAMESPACE].path(None, name))
            except StatusError as error:
                if error.status == _NOT_FOUND:
                    missing.append(name)
                elif error.status != _FORBIDDEN:
                    raise self._refused(error, "get", RESOURCES[Kind.NAMESPACE], None, name) from error
        return tuple(missing)

    def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """One Secret as the API server sends it, or None if it does not exist."""
        return self.get(SECRETS, namespace, name)

    def get(self, resource: Resource, namespace: str | None, name: str) -> dict[str, Any] | None:
        """One object as the API server sends it, its latest state, or None if it does not exist."""
        try:
            return self._transport.get(resource.path(namespace, name))
        except StatusError as error:
            if error.status == _NOT_FOUND:
                return None
            raise self._refused(error, "get", resource, namespace, name) from error

    def patch_node(self, name: str, operations: Sequence[Mapping[str, Any]]) -> None:
        """Change a Node as :meth:`patch` does."""
        self.patch(RESOURCES[Kind.NODE], None, name, operations)

    def patch(
        self, resource: Resource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> None:
        """Change an object by a JSON patch that tests its ``resourceVersion``.

        Raises ConflictError if the object was changed or deleted since it was read.
        """
        try:
            self._transport.patch(resource.path(namespace, name), operations)
        except StatusError as error:
            what = f"{resource.kind} {name}"
            if error.status in (_CONFLICT, _UNPROCESSABLE):
                raise ConflictError(f"{what} was changed meanwhile.", hint="Run the command again.") from error
            if error.status == _NOT_FOUND:
                raise ConflictError(f"{what} was deleted meanwhile.") from error
            raise self._refused(error, "patch", resource, namespace, name) from error

    def create(self, resource: Resource, namespace: str | None, value: Mapping[str, Any]) -> None:
        """Create an object. Raises ConflictError if there is one of its name, ClusterError without its namespace."""
        name = value["metadata"]["name"]
        try:
            self._transport.post(resource.path(namespace), value)
        except StatusError as error:
            if error.status == _CONFLICT:
                raise ConflictError(f"{resource.kind} {name} was created meanwhile.") from error
            if error.status == _NOT_FOUND:
                raise ClusterError(f"There is no namespace {namespace}.", status=_NOT_FOUND) from error
            raise self._refused(error, "create", resource, namespace, name) from error

    def delete(self, resource: Resource, namespace: str | None, name: str) -> None:
        """Delete an object, as kubectl does; nothing happens if there is none of this name."""
        try:
            self._transport.delete(resource.path(namespace, name))
        except StatusError as error:
            if error.status != _NOT_FOUND:
                raise self._refused(error, "delete", resource, namespace, name) from error

    def evict(self, namespace: str, name: str, uid: str) -> str:
        """Evict the pod with this ``uid`` by the eviction API, which PodDisruptionBudgets guard.

        Returns an empty text where the API server evicts it, or has no pod of this name; otherwise why not now, in the
        API server's words: a budget does not allow it, several budgets select the pod, or the pod of this name is
        another one. Nothing has happened then.
        Source: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
        """
        pods = RESOURCES[Kind.POD]
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            # A request that reaches the server twice must not evict the pod's replacement of the same name.
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        try:
            self._transport.post(f"{pods.path(namespace, name)}/eviction", eviction, again=_UNAVAILABLE)
        except StatusError as error:
            if error.status == _NOT_FOUND:
                return ""
            several = error.status == _INTERNAL and _SEVERAL_BUDGETS in error.message
            if error.status in (_TOO_MANY, _CONFLICT) or several:
                return error.message or "the API server allows no eviction now"
            raise self._refused(error, "create", EVICTIONS, namespace, name) from error
        return ""

    def _listed(
        self, resource: Resource, namespace: str | None, selector: str, fields: str, limit: int
    ) -> Iterator[LoadedObject]:
        asked = {"labelSelector": selector, "fieldSelector": fields}
        query = {key: value for key, value in asked.items() if value}
        seen: set[str] = set()
        restarts = sparse = 0
        seconds, more = 0.0, ""
        while True:
            began = time.monotonic()
            page_query = query | {"limit": str(limit)} | ({"continue": more} if more else {})
            try:
                page = self._transport.get(resource.path(namespace), page_query)
            except TooLargeError:
                if limit == 1:
                    raise
                limit = max(1, limit // _SMALLER)
                continue
            except StatusError as error:
                if error.status != _GONE or not more or restarts == _RESTARTS:
                    raise self._refused(error, "list", resource, namespace, None) from error
                restarts, more = restarts + 1, ""
                continue
            # Taken off one by one: a page is gone while its last objects are looked at.
            items, more = self._items(page, resource)
            del page
            sparse += len(items) * 2 < limit
            seconds += time.monotonic() - began
            while items:
                found = self._found(items.pop(), resource)
                uid = found.value["metadata"]["uid"]
                if uid not in seen:
                    seen.add(uid)
                    yield found
            if not more:
                return
            if len(seen) > LIST_OBJECTS or sparse > _SPARSE_PAGES or seconds > LIST_SECONDS:
                raise ClusterError(
                    f"{self._server}: the list of {resource.plural} does not end: {len(seen)} objects in "
                    f"{seconds:.0f} s so far.",
                    hint="Check that this is the address of an API server, or choose namespaces with -n.",
                )

    def _items(self, page: dict[str, Any], resource: Resource) -> tuple[list[Any], str]:
        """A page's objects, the last one first, and the token for the next page."""
        whole = Value(page, ObjectReference(1, f"list of {resource.plural}"))
        try:
            items = [each.raw for each in whole["items"].items()]
            return items[::-1], whole["metadata"]["continue"].text()
        except ManifestError as error:
            raise self._invalid(error) from error

    def _get(self, resource: Resource, namespace: str | None, name: str) -> dict[str, Any]:
        try:
            return self._transport.get(resource.path(namespace, name))
        except StatusError as error:
            raise self._refused(error, "get", resource, namespace, name) from error

    def _found(self, value: dict[str, Any], resource: Resource) -> LoadedObject:
        try:
            check_types(value, resource)
        except ManifestError as error:
            raise self._invalid(error) from error
        # A list's items do not say what they are.
        whole = {**value, "apiVersion": resource.api_version, "kind": str(resource.kind)}
        return LoadedObject(lean(whole), Source(f"cluster {self.name}"))

    @property
    def _server(self) -> str:
        return f"The API server {parse_url(self._connection.server).netloc} of context {self._connection.name}"

    def _invalid(self, error: ManifestError) -> ClusterError:
        said = error.message.removeprefix("document 1, ")
        return ClusterError(f"{self._server} sent an invalid object: {said}", hint=_NOT_KUBERNETES)

    def _refused(
        self, error: StatusError, verb: str, resource: Resource, namespace: str | None, name: str | None
    ) -> MultiarchError:
        found = self._connection
        server, status = self._server, error.status
        if status == _UNAUTHORIZED:
            whose = f" of user {found.user.name}" if found.user.name else ""
            return ClusterError(f"{server} rejects the credentials{whose}.", hint=self._renew(), status=status)
        what = f"{verb} {resource.plural}{f' {name}' if name else ''}"
        if status == _FORBIDDEN and _BY_ADMISSION.search(error.message):
            return ClusterError(f"{server} refuses {what}: {error.message.rstrip('.')}.", status=status)
        if status == _FORBIDDEN:
            user = _USER.search(error.message)
            return ForbiddenError(
                verb=verb,
                resource=resource.plural,
                group=resource.group,
                namespace=namespace,
                name=name,
                user=user.group(1) if user else None,
            )
        if status == _NOT_FOUND and name:
            return MultiarchError(f"There is no {resource.kind} {name} in the cluster of context {found.name}.")
        said = f": {error.message.rstrip('.')}" if error.message else ""
        if status == _BAD_REQUEST:
            return MultiarchError(f"{server} rejects {what}{said}.", hint="Check the selector.")
        hint = "Try again later." if status >= 429 else ""  # noqa: PLR2004
        return ClusterError(f"{server} answered {what} with status {status}{said}.", hint=hint, status=status)

    def _renew(self) -> str:
        user = self._connection.user
        if user.plugin is not None:
            program = Path(user.plugin.command).name
            return f"The token of {program} is rejected: check that its IAM identity has an EKS access entry."
        if user.token is not None or user.token_file is not None:
            return "The token has expired, or is of another cluster: renew it."
        if user.certificate is not None:
            return "The client certificate has expired, or is of another cluster: renew it."
        return "The kubeconfig has no credentials for it: `aws eks update-kubeconfig` adds them."
