"""The provider: any object, and Helm releases. What it does without a cluster, and what the engine is told."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from pulumi.provider.experimental import provider as api

from sandbox.providers import InitializationError, StandInError, auto_name, diffs, type_of
from sandbox.providers.kubernetes import faults, fields, objects, releases
from sandbox.providers.kubernetes.manifests import Manifests
from sandbox.providers.kubernetes.reach import Reach, find_reach
from sandbox.providers.values import (
    GENERATION,
    INPUTS,
    UNKNOWN,
    Record,
    has_unknown,
    plain_map,
    secret_keys,
    wrap_map,
)

# Set in the state by the first update: until then the manager of the fields is the one of a plain create, and previews
# override conflicts. pulumi-kubernetes, provider/pkg/await/await.go, patchForce and fixCSAFieldManagers.
_APPLIED: Final = "__applied"
_EXISTS: Final = "The resource already exists in the cluster. To adopt a resource into Pulumi: use `pulumi import`."


def manifests(urn: str) -> Manifests:
    """Return the folder in ``MULTIARCH_SANDBOX_MANIFESTS``. Raises :class:`StandInError` when that is not set."""
    folder = os.environ.get("MULTIARCH_SANDBOX_MANIFESTS", "")
    if not folder:
        raise StandInError("MULTIARCH_SANDBOX_MANIFESTS is not set: the kubernetes stand-in has nowhere to put objects")
    return Manifests(Path(folder, urn.partition("::")[0].removeprefix("urn:pulumi:")))


class KubernetesProvider(api.Provider):
    """Objects go to a folder, which stands in for the cluster: what is in it exists, and may be edited."""

    def __init__(self) -> None:
        """Nothing is configured yet."""
        self._settings: Record = {}
        self._reach = Reach()
        self._checked: dict[str, int] = {}

    async def configure(self, request: api.ConfigureRequest) -> api.ConfigureResponse:
        """Keep the settings, and whether the API answers now."""
        self._settings = plain_map(request.args)
        self._reach = await asyncio.to_thread(find_reach, self._settings)
        return api.ConfigureResponse(accept_secrets=True, supports_preview=True)

    async def check(self, request: api.CheckRequest) -> api.CheckResponse:
        """Fill in API version, kind and name; a release needs its chart."""
        token, name = type_of(request.urn), request.urn.split("::", 3)[3]
        old, new = plain_map(request.old_inputs), plain_map(request.new_inputs)
        if old:
            self._checked[request.urn] = generation = int(old.get(GENERATION, 0))
        else:
            generation = self._checked.get(request.urn, -1) + 1
        try:
            inputs = self._completed(token, request.urn, name, generation, new)
        except StandInError as error:
            return api.CheckResponse(failures=[api.CheckFailure("", str(error))])
        failures = []
        if token == objects.RELEASE and not has_unknown(inputs):
            fault = await asyncio.to_thread(faults.find_chart_fault, inputs)
            failures = [api.CheckFailure("chart", fault)] if fault else []
        checked = wrap_map({**inputs, GENERATION: generation}, secret_keys(request.new_inputs))
        return api.CheckResponse(inputs=checked, failures=failures)

    def _completed(self, token: str, urn: str, name: str, generation: int, new: Record) -> Record:
        if token == objects.RELEASE:
            return {"name": auto_name(f"{name}-", urn, generation, 53), "namespace": "default", **new}
        return objects.completed(token, urn, name, generation, new)

    async def diff(self, request: api.DiffRequest) -> api.DiffResponse:
        """Compare what the state has of the inputs with the new ones. provider.go, Diff; helm_release.go, Diff."""
        state, new = plain_map(request.old_state), plain_map(request.new_inputs)
        new.pop(GENERATION, None)
        old: Record = fields.pruned(_without_own(state), _without_own(state.get(INPUTS, {})))
        if type_of(request.urn) == objects.RELEASE:
            return diffs.respond(old, new, lambda path: path in releases.FIXED, delete_first=False)
        kept = objects.keeps_name(old, new)
        return diffs.respond(old, new, lambda path: objects.replaces(new, self._settings, path), delete_first=kept)

    async def create(self, request: api.CreateRequest) -> api.CreateResponse:
        """Write the object, or in a preview show it."""
        inputs, secrets = plain_map(request.properties), secret_keys(request.properties)
        if request.preview:
            return api.CreateResponse(properties=wrap_map({"status": UNKNOWN, **inputs}, secrets))
        release = type_of(request.urn) == objects.RELEASE
        create = self._install if release else self._create
        identifier = releases.identifier(inputs) if release else objects.identifier(inputs)
        state, error = await asyncio.to_thread(create, request.urn, inputs)
        properties = wrap_map({**state, INPUTS: inputs}, secrets)
        if error:
            raise InitializationError(identifier, properties, error)
        return api.CreateResponse(identifier, properties)

    async def update(self, request: api.UpdateRequest) -> api.UpdateResponse:
        """Apply the object, or in a preview find what would be rejected."""
        inputs, state, secrets = plain_map(request.news), plain_map(request.olds), secret_keys(request.news)
        update = self._upgrade if type_of(request.urn) == objects.RELEASE else self._apply
        new, error = await asyncio.to_thread(update, request, state, inputs)
        properties = wrap_map({**new, INPUTS: inputs}, secrets)
        if error:
            raise InitializationError(request.resource_id, properties, error)
        return api.UpdateResponse(properties)

    async def read(self, request: api.ReadRequest) -> api.ReadResponse:
        """Return what is live; an empty id when the object is gone."""
        if self._reach.fault:
            self._reach.forget("failed to read resource state due to unreachable cluster")
            return api.ReadResponse(resource_id="")
        read = self._read_release if type_of(request.urn) == objects.RELEASE else self._read
        found = await asyncio.to_thread(read, request.urn, request.resource_id, plain_map(request.properties))
        if found is None:
            return api.ReadResponse(resource_id="")
        secrets = secret_keys(request.properties) | secret_keys(request.inputs)
        return api.ReadResponse(request.resource_id, wrap_map(found, secrets), wrap_map(found[INPUTS], secrets))

    async def delete(self, request: api.DeleteRequest) -> None:
        """Take the object away."""
        state, store = plain_map(request.properties), manifests(request.urn)
        if type_of(request.urn) == objects.RELEASE:
            self._reach.require('can\'t delete Helm Release with unreachable cluster. Reason: "{}"')
            await asyncio.to_thread(releases.uninstall, store, state)
        elif self._reach.fault:
            self._reach.forget("configured Kubernetes cluster is unreachable")
        else:
            await asyncio.to_thread(store.delete, _without_own(state))

    # -- objects: provider/pkg/provider/provider.go, provider/pkg/await/await.go ---------------------------------------

    def _create(self, urn: str, inputs: Record) -> tuple[Record, str]:
        self._reach.require()
        wanted = _without_own(inputs)
        if manifests(urn).get(wanted) is not None:
            said = f'resource "{urn}" was not successfully created by the Kubernetes API server'
            named = f'{objects.resource_of(wanted)} "{wanted["metadata"]["name"]}"'
            raise StandInError(f"{said}: {named} already exists {_EXISTS}")
        return _write(urn, wanted, {}, wanted), ""

    def _apply(self, request: api.UpdateRequest, state: Record, inputs: Record) -> tuple[Record, str]:
        if request.preview and (self._reach.fault or has_unknown(inputs)):
            return inputs, ""
        self._reach.require()
        wanted = _without_own(inputs)
        live = manifests(request.urn).get(_without_own(state))
        if live is None:
            missing = f'{objects.resource_of(wanted)} "{wanted["metadata"]["name"]}" not found'
            raise StandInError(f'update of resource "{request.urn}" failed: {missing}')
        conflicts = not request.preview or state.get(_APPLIED)
        error = (conflicts and fields.find_conflict(live, wanted, request.urn)) or objects.find_rejection(live, wanted)
        if error:
            said = f'the Kubernetes API server reported that "{request.resource_id}" failed to fully initialize'
            return {**live, _APPLIED: True}, f"{said} or become live: {error}"
        if request.preview:
            return inputs, ""
        return {**_write(request.urn, live, _without_own(state.get(INPUTS, {})), wanted), _APPLIED: True}, ""

    def _read(self, urn: str, identifier: str, state: Record) -> Record | None:
        wanted = _without_own(state) or objects.identified(type_of(urn), identifier)  # an import has no state
        live = manifests(urn).get(wanted)
        if live is None:
            return None
        before: Record = state.get(INPUTS) or fields.as_inputs(live)
        own = {key: before[key] for key in before if key.startswith("__")}
        inputs = {**fields.pruned(live, _without_own(before)), **own}
        return {**live, **({_APPLIED: True} if state.get(_APPLIED) else {}), INPUTS: inputs}

    # -- releases ------------------------------------------------------------------------------------------------------

    def _install(self, urn: str, inputs: Record) -> tuple[Record, str]:
        self._reach.require("can't create Helm Release with unreachable cluster: {}")
        status, error = releases.install(manifests(urn), inputs)
        return {**inputs, "status": status}, error

    def _upgrade(self, request: api.UpdateRequest, _state: Record, inputs: Record) -> tuple[Record, str]:
        if request.preview:
            return {**inputs, "status": UNKNOWN}, ""
        self._reach.require("can't update Helm Release with unreachable cluster: {}")
        status, error = releases.upgrade(manifests(request.urn), inputs)
        return {**inputs, "status": status}, error

    def _read_release(self, urn: str, identifier: str, state: Record) -> Record | None:
        namespace, _, name = identifier.rpartition("/")
        found = releases.read(manifests(urn), {"namespace": namespace, "name": name, **_without_own(state)})
        return found and {**found, INPUTS: state.get(INPUTS) or {key: found[key] for key in found if key != "status"}}


def _write(urn: str, live: Record, old: Record, new: Record) -> Record:
    """Write what is live after an apply of ``new``, and return it."""
    live = fields.applied(live, old, new)
    manifests(urn).put(live)
    return live


def _without_own(values: Record) -> Record:
    """Return an object without what the engine and the stand-in keep beside it."""
    return {key: value for key, value in values.items() if not key.startswith("__")}
