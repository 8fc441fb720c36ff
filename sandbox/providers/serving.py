"""Serve a stand-in to the engine, and pass on its error messages.

The SDK adds a traceback to every error of a provider. For a bug that is useful; for an error of AWS or of a stand-in it
hides the message, so only the message goes to the engine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import grpc
from botocore.exceptions import ClientError
from pulumi.provider.experimental import server
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.provider import Provider
from pulumi.runtime.proto.provider_pb2 import ErrorResourceInitFailed
from pulumi.runtime.proto.status_pb2 import Status

from sandbox.providers import InitializationError, StandInError

Method = Callable[[Any, grpc.aio.ServicerContext[Any, Any]], Awaitable[Any]]


class Rejections(grpc.aio.ServerInterceptor):  # type: ignore[misc] # gRPC ships no types
    """Passes rejections on to the engine without their traceback."""

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:  # noqa: ANN401 - gRPC's
        """Wrap a method that takes one request and gives one answer; the engine calls no other."""
        handler = await continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        return grpc.unary_unary_rpc_method_handler(
            in_one_line(handler.unary_unary),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def in_one_line(method: Method) -> Method:
    """Return ``method``, whose errors say what was rejected and no more where AWS or a stand-in rejected it."""

    async def answer(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:  # noqa: ANN401 - protobuf's
        try:
            return await method(request, context)
        except Exception as error:
            # What the SDK raises in its place comes from what was raised here.
            rejection = error.__context__
            if not isinstance(rejection, ClientError | StandInError):
                raise
            message = " ".join(str(rejection).split())
            details = _partial(rejection, message) if isinstance(rejection, InitializationError) else ()
            await context.abort(grpc.StatusCode.UNKNOWN, message, details)

    return answer


def _partial(error: InitializationError, message: str) -> tuple[tuple[str, bytes], ...]:
    """Return the metadata by which the engine keeps what exists (pulumi, ``provider.proto``)."""
    properties = PropertyValue.marshal_map(error.properties)
    failed = ErrorResourceInitFailed(id=error.identifier, properties=properties, reasons=error.reasons)
    status = Status(code=grpc.StatusCode.UNKNOWN.value[0], message=message)
    status.details.add().Pack(failed)
    return (("grpc-status-details-bin", status.SerializeToString()),)


def main(arguments: Sequence[str], version: str, provider: Provider) -> None:
    """Serve ``provider`` until the engine ends it, as the SDK's own ``main`` does."""
    # The SDK takes no interceptors; the server that it makes is the only one of this process.
    grpc.aio.server = partial(grpc.aio.server, interceptors=[Rejections()])
    server.main(list(arguments), version, provider)
