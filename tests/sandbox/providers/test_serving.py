"""What the engine is told when something is rejected, or broken."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from botocore.exceptions import ClientError
from pulumi.runtime.proto.provider_pb2 import ErrorResourceInitFailed
from pulumi.runtime.proto.status_pb2 import Status

from sandbox.providers import InitializationError, StandInError
from sandbox.providers.eks.provider import EksProvider
from sandbox.providers.serving import in_one_line
from sandbox.providers.values import wrap_map

REJECTED = ClientError({"Error": {"Code": "InvalidParameterException", "Message": "no\nroom"}}, "UpdateNodegroupConfig")


class Context:
    """What gRPC hands a method: ``abort`` ends it."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, str]] = []

    async def abort(self, code: Any, details: str, metadata: tuple[tuple[str, bytes], ...]) -> None:  # noqa: ANN401
        self.told.append((code, details))
        self.metadata = dict(metadata)


def answered(error: Exception, context: Context | None = None) -> list[tuple[Any, str]]:
    """Raise ``error`` as the SDK does, with a traceback behind its message; what the engine is told."""
    context = context or Context()

    async def method(_request: Any, _context: Any) -> None:  # noqa: ANN401
        try:
            reject(error)
        except Exception as raised:  # noqa: BLE001 - as the SDK
            message = f"{raised}:\n  File …"
            raise RuntimeError(message)  # noqa: B904 - as the SDK

    async def called() -> None:
        await in_one_line(method)(None, context)

    asyncio.run(called())
    return context.told


def reject(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            REJECTED,
            "An error occurred (InvalidParameterException) when calling the UpdateNodegroupConfig operation: no room",
        ),
        (StandInError("the sandbox's aws stand-in has no function x"), "the sandbox's aws stand-in has no function x"),
    ],
)
def test_a_rejection_is_one_line_without_a_traceback(error: Exception, said: str) -> None:
    assert answered(error) == [(grpc.StatusCode.UNKNOWN, said)]


def test_a_thing_that_is_not_ready_is_kept_with_its_id_and_its_reasons() -> None:
    context = Context()
    answered(InitializationError("shop:arm", wrap_map({"status": "CREATE_FAILED"}), "no nodes"), context)
    detail = ErrorResourceInitFailed()
    assert Status.FromString(context.metadata["grpc-status-details-bin"]).details[0].Unpack(detail)
    assert (detail.id, list(detail.reasons)) == ("shop:arm", ["no nodes"])
    assert detail.properties["status"] == "CREATE_FAILED"


def test_a_fault_of_the_stand_in_keeps_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="File …"):
        answered(KeyError("x"))


def test_the_eks_component_needs_the_aws_cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StandInError, match="Could not find aws CLI for EKS"):
        EksProvider().construct("shop", "eks:index:Cluster", {})


def test_an_input_that_the_eks_component_does_not_model_is_named() -> None:
    with pytest.raises(StandInError, match="does not model the input instanceType of eks:index:Cluster"):
        EksProvider().construct("shop", "eks:index:Cluster", {"instanceType": "m7i.large"})
