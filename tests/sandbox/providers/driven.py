"""A stand-in, that for aws by default, driven as the engine drives it: check, diff, create, read, update, delete."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from pulumi.provider.experimental import provider as api

from sandbox.providers.aws.provider import AwsProvider
from sandbox.providers.values import Record, plain_map, wrap_map


def urn(token: str, name: str) -> str:
    return f"urn:pulumi:dev::shop::{token}::{name}"


@dataclass
class Made:
    """A resource as the engine's state has it."""

    urn: str
    id: str
    inputs: Record
    state: Record


class Driven:
    """One configured provider process."""

    def __init__(self, settings: Record, provider: api.Provider | None = None) -> None:
        self.provider = provider or AwsProvider()
        self.settings = settings
        asyncio.run(self.provider.configure(api.ConfigureRequest({}, wrap_map(settings), True, True)))  # noqa: FBT003 (pulumi's signature)

    def check(self, token: str, name: str, inputs: Record, old: Record | None = None) -> api.CheckResponse:
        request = api.CheckRequest(urn(token, name), wrap_map(old or {}), wrap_map(inputs), b"")
        return asyncio.run(self.provider.check(request))

    def checked(self, token: str, name: str, inputs: Record, old: Record | None = None) -> Record:
        answer = self.check(token, name, inputs, old)
        assert not answer.failures, [failure.reason for failure in answer.failures]
        return plain_map(answer.inputs or {})

    def create(self, token: str, name: str, /, **inputs: Any) -> Made:
        return self.create_checked(token, name, self.checked(token, name, inputs))

    def create_checked(self, token: str, name: str, inputs: Record) -> Made:
        request = api.CreateRequest(urn(token, name), wrap_map(inputs), 0, False)  # noqa: FBT003 (pulumi's signature)
        answer = asyncio.run(self.provider.create(request))
        assert answer.resource_id
        return Made(urn(token, name), answer.resource_id, inputs, plain_map(answer.properties))

    def preview(self, token: str, name: str, /, **inputs: Any) -> Record:
        checked = self.checked(token, name, inputs)
        request = api.CreateRequest(urn(token, name), wrap_map(checked), 0, True)  # noqa: FBT003 (pulumi's signature)
        return plain_map(asyncio.run(self.provider.create(request)).properties)

    def again(self, made: Made, **inputs: Any) -> Record:
        """What check makes of changed inputs of a resource that is there."""
        token, name = made.urn.split("::")[2:]
        given = {key: value for key, value in made.inputs.items() if key != "tagsAll" and not key.startswith("__")}
        return self.checked(token, name, {**given, **inputs}, made.inputs)

    def diff(self, made: Made, **inputs: Any) -> api.DiffResponse:
        new = wrap_map(self.again(made, **inputs))
        return asyncio.run(self.provider.diff(api.DiffRequest(made.urn, made.id, wrap_map(made.state), new, [])))

    def update(self, made: Made, *, preview: bool = False, **inputs: Any) -> Made:
        new = self.again(made, **inputs)
        request = api.UpdateRequest(made.urn, made.id, wrap_map(made.state), wrap_map(new), 0, [], preview)
        answer = asyncio.run(self.provider.update(request))
        return Made(made.urn, made.id, new, plain_map(answer.properties))

    def read(self, made: Made) -> api.ReadResponse:
        return asyncio.run(
            self.provider.read(api.ReadRequest(made.urn, made.id, wrap_map(made.state), wrap_map(made.inputs)))
        )

    def refreshed(self, made: Made) -> Made | None:
        """The resource after a refresh; nothing when it is gone."""
        answer = self.read(made)
        inputs, state = plain_map(answer.inputs), plain_map(answer.properties)
        return Made(made.urn, answer.resource_id, inputs, state) if answer.resource_id else None

    def delete(self, made: Made) -> None:
        asyncio.run(self.provider.delete(api.DeleteRequest(made.urn, made.id, wrap_map(made.state), 0)))

    def invoke(self, token: str, **arguments: Any) -> Record:
        answer = asyncio.run(self.provider.invoke(api.InvokeRequest(token, wrap_map(arguments))))
        return plain_map(answer.return_value or {})
