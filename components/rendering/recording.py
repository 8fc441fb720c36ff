"""Replaces the engine in a rendering: records what is declared, and answers with marked values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import get_project, get_stack

from multiarch.facts.unknown_values import UNKNOWN_TEXT
from multiarch.observed.resources.declared import DeclaredResource

from . import marked_values
from .marked_values import Json, Properties, Where

STACK_TYPE = "pulumi:pulumi:Stack"
CLUSTER_TYPE = "eks:index:Cluster"
_EKS_CLUSTER_TYPE = "aws:eks/cluster:Cluster"
# How the engine's protocol marks a value that is more than JSON: pulumi, sdk/go/common/resource/sig.
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_RESOURCE_REFERENCE = "5cf8f73096256a8f31e491e813e4eb8e"
_NOT_KNOWN_YET = "<known once it runs>"


class _NoMocks(Mocks):
    """Mocks that take a program's transforms, and are never called: answers come from ``marked_values``."""

    def call(self, args: MockCallArgs) -> tuple[dict[str, Json], list[tuple[str, str]] | None]:
        raise NotImplementedError(args.token)

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Json]]:
        raise NotImplementedError(args.typ)


class Recorder(MockMonitor):
    """Pulumi's mock monitor, which also records parent, dependencies and options of resources.

    It answers with the inputs as they came, so nothing has to be decoded and encoded again: an event loop per worker
    thread, which the original makes for that, would stay behind after every rendering.
    """

    def __init__(self, where: Where) -> None:
        """``where`` answers look-ups of region and partition."""
        super().__init__(_NoMocks())
        self._where = where
        self._lock = Lock()
        self._recorded: dict[str, DeclaredResource] = {}
        self._clusters: dict[str, dict[str, Json]] = {}
        self.outputs: Properties = {}

    def recorded(self) -> tuple[DeclaredResource, ...]:
        """Return all declared resources, sorted by URN: the order of requests varies."""
        return tuple(self._recorded[urn] for urn in sorted(self._recorded))

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """Return the URN that the engine would assign, with the types of all parents except the stack."""
        above = parent.split("::")[2] if parent else STACK_TYPE
        chain = type_ if above == STACK_TYPE else f"{above}${type_}"
        return f"urn:pulumi:{get_stack()}::{get_project()}::{chain}::{name}"

    def RegisterResource(  # noqa: N802  (the protocol's name)
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Record a resource, and answer with its inputs and marked values."""
        urn = self.make_urn(request.parent, request.type, request.name)
        inputs = properties(request.object)
        with self._lock:
            if urn in self._recorded:
                raise DuplicateResourceError(urn)
            self._recorded[urn] = DeclaredResource(
                urn=urn,
                parent=request.parent,
                type=request.type,
                name=request.name,
                inputs=inputs,
                ignore_changes=tuple(sorted(request.ignoreChanges)),
                dependencies=frozenset(request.dependencies),
            )
        id_ = marked_values.resource_id(request.type, request.name) if request.custom else ""
        response = resource_pb2.RegisterResourceResponse(urn=urn, id=id_)
        if request.custom:
            # A component has only the outputs that it registers; a provider returns the inputs and what it adds.
            response.object.CopyFrom(request.object)
        response.object.update(marked_values.outputs(request.type, request.name, inputs, self._where))
        if request.type == CLUSTER_TYPE:
            response.object.update({"eksCluster": self._cluster(urn, request.name, inputs)})
        return response

    def ReadResource(  # noqa: N802  (the protocol's name)
        self, request: resource_pb2.ReadResourceRequest
    ) -> resource_pb2.ReadResourceResponse:
        """Answer for a resource that exists already, of which the ID is known."""
        urn = self.make_urn(request.parent, request.type, request.name)
        response = resource_pb2.ReadResourceResponse(urn=urn)
        response.properties.update({"name": request.id})
        return response

    def RegisterResourceOutputs(  # noqa: N802  (the protocol's name)
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> None:
        """Keep the stack's outputs."""
        if f"::{STACK_TYPE}::" in request.urn:
            self.outputs = properties(request.outputs)

    def Invoke(  # noqa: N802  (the protocol's name)
        self, request: resource_pb2.ResourceInvokeRequest
    ) -> object:
        """Answer a look-up."""
        args = properties(request.args)
        if request.tok == "pulumi:pulumi:getResource":
            urn = str(args["urn"])
            found: dict[str, Json] = {"urn": urn, "id": urn, "state": self._clusters[urn]}
        else:
            found = marked_values.call(request.tok, args, self._where)
        response = resource_pb2.ResourceInvokeResponse()
        getattr(response, "return").update(found)
        return response

    def _cluster(self, urn: str, name: str, inputs: Properties) -> dict[str, Json]:
        """Return the remote component's EKS cluster, as a reference that the SDK resolves by ``getResource``."""
        child = self.make_urn(urn, _EKS_CLUSTER_TYPE, f"{name}-eksCluster")
        self._clusters[child] = marked_values.cluster(name, inputs, self._where)
        return {_SIGNATURE: _RESOURCE_REFERENCE, "urn": child, "id": child, "packageVersion": ""}


class DuplicateResourceError(Exception):
    """Two resources of one type have the same name and parent, which the engine would reject."""


def properties(struct: object) -> dict[str, Json]:
    """Return a protobuf Struct as plain values: whole numbers are ints, secrets their value, references their URN."""
    plain = _plain(struct)
    if not isinstance(plain, dict):
        raise TypeError(struct)
    return plain


def _plain(value: object) -> Json:
    # Struct and ListValue register themselves as Mapping and Sequence.
    if isinstance(value, Mapping):
        members = {str(key): _plain(member) for key, member in sorted(value.items())}
        if _SIGNATURE in members:
            return members.get("urn", members.get("value"))
        return members
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return _NOT_KNOWN_YET if value == UNKNOWN_TEXT else value
    if isinstance(value, Sequence):
        return [_plain(member) for member in value]
    return value
