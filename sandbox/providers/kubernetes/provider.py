"""The provider: any object, and Helm releases as a record."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from pulumi.provider.experimental import provider as api

from sandbox.providers import StandInError, auto_name, diffs
from sandbox.providers.kubernetes import objects
from sandbox.providers.kubernetes.manifests import Manifests
from sandbox.providers.values import (
    GENERATION,
    INPUTS,
    UNKNOWN,
    Record,
    drifted,
    merged,
    plain_map,
    secret_keys,
    wrap_map,
)

_RELEASE_FIXED: Final = ("name", "namespace")


def manifests(urn: str) -> Manifests:
    """Return the folder in ``MULTIARCH_SANDBOX_MANIFESTS``. Raises :class:`StandInError` when that is not set."""
    folder = os.environ.get("MULTIARCH_SANDBOX_MANIFESTS", "")
    if not folder:
        raise StandInError("MULTIARCH_SANDBOX_MANIFESTS is not set: the kubernetes stand-in has nowhere to put objects")
    return Manifests(Path(folder, urn.partition("::")[0].removeprefix("urn:pulumi:")))


class KubernetesProvider(api.Provider):
    """Objects go to a folder: the endpoint of the configured kubeconfig does not exist."""

    def __init__(self) -> None:
        """Nothing is configured yet."""
        self._settings: Record = {}
        self._checked: dict[str, int] = {}

    async def configure(self, request: api.ConfigureRequest) -> api.ConfigureResponse:
        """Keep the settings."""
        self._settings = plain_map(request.args)
        return api.ConfigureResponse(accept_secrets=True, supports_preview=True)

    async def check(self, request: api.CheckRequest) -> api.CheckResponse:
        """Fill in API version, kind and name."""
        token, name = _type(request.urn), request.urn.split("::", 3)[3]
        old, new = plain_map(request.old_inputs), plain_map(request.new_inputs)
        if old:
            self._checked[request.urn] = generation = int(old.get(GENERATION, 0))
        else:
            generation = self._checked.get(request.urn, -1) + 1
        try:
            inputs = self._completed(token, request.urn, name, generation, new)
        except StandInError as error:
            return api.CheckResponse(failures=[api.CheckFailure("", str(error))])
        return api.CheckResponse(inputs=wrap_map({**inputs, GENERATION: generation}, secret_keys(request.new_inputs)))

    def _completed(self, token: str, urn: str, name: str, generation: int, new: Record) -> Record:
        if token == objects.RELEASE:
            return {"name": auto_name(f"{name}-", urn, generation, 53), "namespace": "default", **new}
        inputs = objects.completed(token, urn, name, generation, new)
        if self._settings.get("namespace") and not inputs["metadata"].get("namespace"):
            inputs["metadata"]["namespace"] = self._settings["namespace"]
        return inputs

    async def diff(self, request: api.DiffRequest) -> api.DiffResponse:
        """Compare the inputs kept in the state with the new ones."""
        old, new = plain_map(request.old_state).get(INPUTS, {}), plain_map(request.new_inputs)
        old.pop(GENERATION, None)
        new.pop(GENERATION, None)
        if _type(request.urn) == objects.RELEASE:
            return diffs.respond(old, new, lambda path: path in _RELEASE_FIXED, delete_first=True)
        kind = str(new.get("kind", ""))
        named = old.get("metadata", {}).get("name") == new.get("metadata", {}).get("name")
        return diffs.respond(old, new, lambda path: objects.replaces(kind, self._settings, path), delete_first=named)

    async def create(self, request: api.CreateRequest) -> api.CreateResponse:
        """Write the object, or in a preview show it."""
        inputs, secrets = plain_map(request.properties), secret_keys(request.properties)
        if request.preview:
            return api.CreateResponse(properties=wrap_map(_preview(inputs), secrets))
        state = await asyncio.to_thread(self._put, request.urn, inputs)
        return api.CreateResponse(_id(_type(request.urn), inputs), wrap_map(state, secrets))

    async def update(self, request: api.UpdateRequest) -> api.UpdateResponse:
        """Write the object again."""
        inputs, secrets = plain_map(request.news), secret_keys(request.news)
        if request.preview:
            return api.UpdateResponse(wrap_map(inputs, secrets))
        return api.UpdateResponse(wrap_map(await asyncio.to_thread(self._put, request.urn, inputs), secrets))

    async def read(self, request: api.ReadRequest) -> api.ReadResponse:
        """Return what is live; an empty id when the object is gone."""
        state = plain_map(request.properties)
        inputs: Record = state.get(INPUTS) or plain_map(request.inputs)
        if not inputs.get("metadata") and _type(request.urn) != objects.RELEASE:
            raise StandInError("the sandbox's kubernetes stand-in reads only objects it made")
        live = await asyncio.to_thread(manifests(request.urn).get, _record(_type(request.urn), inputs))
        if live is None:
            return api.ReadResponse(resource_id="")
        secrets = secret_keys(request.properties) | secret_keys(request.inputs)
        inputs = drifted(inputs, live)
        return api.ReadResponse(
            request.resource_id, wrap_map({**merged(live, inputs), INPUTS: inputs}, secrets), wrap_map(inputs, secrets)
        )

    async def delete(self, request: api.DeleteRequest) -> None:
        """Take the object away."""
        state = plain_map(request.properties)
        record = _record(_type(request.urn), state.get(INPUTS, state))
        await asyncio.to_thread(manifests(request.urn).delete, record)

    def _put(self, urn: str, inputs: Record) -> Record:
        token = _type(urn)
        if token == objects.RELEASE:
            sys.stderr.write(
                f"Helm release {inputs['namespace']}/{inputs['name']}: "
                "the sandbox writes chart, version and values to a file and installs nothing.\n"
            )
        live = manifests(urn).put(_record(token, inputs))
        return {**merged(live, inputs), INPUTS: inputs}


def _record(token: str, inputs: Record) -> Record:
    """Return what is written: the object itself, or for a release a file that says what would be installed."""
    wanted = {key: value for key, value in inputs.items() if not key.startswith("__")}
    if token != objects.RELEASE:
        return wanted
    metadata = {"name": wanted["name"], "namespace": wanted["namespace"]}
    spec = {key: value for key, value in wanted.items() if key not in metadata}
    return {"apiVersion": "multiarch-sandbox/v1", "kind": "HelmRelease", "metadata": metadata, "spec": spec}


def _id(token: str, inputs: Record) -> str:
    return f"{inputs['namespace']}/{inputs['name']}" if token == objects.RELEASE else objects.identifier(inputs)


def _preview(inputs: Record) -> Record:
    return {"status": UNKNOWN, **inputs}


def _type(urn: str) -> str:
    return urn.split("::")[2].rsplit("$", maxsplit=1)[-1]
