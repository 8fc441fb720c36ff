"""The provider: Pulumi's requests, answered from the rows."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any, Final

from pulumi.provider.experimental import provider as api
from pulumi.provider.experimental.property_value import PropertyValue

from sandbox.providers import InitializationError, StandInError, auto_name, aws_endpoint, diffs, loopback_url, type_of
from sandbox.providers.aws import (
    drift,
    eks_access,
    eks_clusters,
    eks_nodegroups,
    functions,
    groups,
    iam,
    keys_logs_ssm,
    network,
    queues_events,
    security_groups,
)
from sandbox.providers.aws.rows import Aws, Call, Row
from sandbox.providers.aws.sdk import read_properties
from sandbox.providers.values import (
    GENERATION,
    INPUTS,
    UNKNOWN,
    Record,
    Value,
    has_unknown,
    merged,
    plain,
    plain_map,
    secret_keys,
    unknown_at,
    wrap_map,
)

_FOLDER: Final = "sandbox/providers/aws"
_TABLES: Final = (
    eks_access, eks_clusters, eks_nodegroups, groups, iam, keys_logs_ssm, network, queues_events, security_groups,
)  # fmt: skip
ROWS: Final[Mapping[str, Row]] = {row.token: row for table in _TABLES for row in table.ROWS}
"""Every resource type the stand-in has."""


class AwsProvider(api.Provider):
    """Serves the resource types of :data:`ROWS` and the functions of ``functions.py``."""

    def __init__(self) -> None:
        """``configure`` must be called first."""
        self._aws: Aws | None = None
        self._checked: dict[str, int] = {}

    @property
    def aws(self) -> Aws:
        """AWS as configured."""
        if self._aws is None:
            raise StandInError("the sandbox's aws stand-in was not configured")
        return self._aws

    async def configure(self, request: api.ConfigureRequest) -> api.ConfigureResponse:
        """Take region, endpoints and default tags. Raises :class:`StandInError` for an address off this machine."""
        self._aws = configured(
            {key: decode(plain(value)) for key, value in request.args.items() if value.value is not None}
        )
        return api.ConfigureResponse(accept_secrets=True, supports_preview=True)

    async def check(self, request: api.CheckRequest) -> api.CheckResponse:
        """Reject unknown types and properties; fill in the name and all tags."""
        kind = type_of(request.urn)
        row = ROWS.get(kind)
        if row is None:
            reason = f"the sandbox's aws stand-in has no {kind}; add a row in {_FOLDER}"
            return api.CheckResponse(failures=[api.CheckFailure("", reason)])
        old = plain_map(request.old_inputs)
        if old:
            self._checked[request.urn] = generation = int(old.get(GENERATION, 0))
        else:
            # The engine checks a replacement a second time, without the old inputs.
            generation = self._checked.get(request.urn, -1) + 1
        new = {key: value for key, value in plain_map(request.new_inputs).items() if not key.startswith("__")}
        failures = self._failures(row, new)
        if failures:
            return api.CheckResponse(failures=failures)
        inputs = completed(row, request.urn, request.urn.split("::", 3)[3], new, generation, self.aws.default_tags)
        return api.CheckResponse(inputs=wrap_map(inputs, secret_keys(request.new_inputs)))

    def _failures(self, row: Row, inputs: Record) -> list[api.CheckFailure]:
        known = row.known_inputs()
        failures = [
            api.CheckFailure(
                key, f"the sandbox's aws stand-in has no property {key!r} of {row.token}; add it in {_FOLDER}"
            )
            for key in sorted(inputs)
            if key not in known and key != "tagsAll"
        ]
        if inputs.get("region") not in (None, self.aws.region, UNKNOWN):
            failures.append(api.CheckFailure("region", f"the sandbox's AWS has one region, {self.aws.region}"))
        return failures + [api.CheckFailure(*each) for each in (row.name.failures(inputs) if row.name else ())]

    async def diff(self, request: api.DiffRequest) -> api.DiffResponse:
        """Compare what AWS had at the last read with the new inputs."""
        row, state = ROWS[type_of(request.urn)], plain_map(request.old_state)
        old, new = state.get(INPUTS, {}), plain_map(request.new_inputs)
        for key in ("region", GENERATION):
            old.pop(key, None)
            new.pop(key, None)
        # Setting an input to the value that AWS chose (a release, a version) is not a change, as in the real one.
        old = {**{key: new[key] for key in new if key in state and state[key] == new[key]}, **old}
        new = drift.completed(row, new, old)
        gone = [name for name in row.irreversible if name in old and name not in new]
        return diffs.respond(old, new, lambda path: path in gone or row.replaces(path), delete_first=row.delete_first)

    async def create(self, request: api.CreateRequest) -> api.CreateResponse:
        """Create, or in a preview say which outputs are not known yet."""
        row, inputs = ROWS[type_of(request.urn)], plain_map(request.properties)
        secrets = secret_keys(request.properties)
        if request.preview:
            always = (key for key, there in read_properties(row.token).items() if there and key != "region")
            shown = {**dict.fromkeys(always, UNKNOWN), **inputs}
            for path in row.outputs:
                unknown_at(shown, path)
            return api.CreateResponse(properties=wrap_map(shown, secrets))
        call = Call(self.aws, row, request.urn, inputs)
        call = call.with_id(await asyncio.to_thread(row.create, call))
        return api.CreateResponse(resource_id=call.id, properties=await asyncio.to_thread(_ready, call, secrets))

    async def read(self, request: api.ReadRequest) -> api.ReadResponse:
        """Return the live state; an empty id when the thing is gone."""
        row, state = ROWS[type_of(request.urn)], plain_map(request.properties)
        inputs = state.get(INPUTS) or plain_map(request.inputs)
        secrets = secret_keys(request.properties) | secret_keys(request.inputs)
        call = Call(self.aws, row, request.urn, inputs, request.resource_id)
        current = await asyncio.to_thread(_state, call)
        if current is None:
            return api.ReadResponse(resource_id="")
        return api.ReadResponse(request.resource_id, wrap_map(current, secrets), wrap_map(current[INPUTS], secrets))

    async def update(self, request: api.UpdateRequest) -> api.UpdateResponse:
        """Apply the updates whose inputs changed, tags last."""
        row, old, new = ROWS[type_of(request.urn)], plain_map(request.olds), plain_map(request.news)
        secrets, olds = secret_keys(request.news), old.get(INPUTS, {})
        new = drift.completed(row, new, olds)
        call = Call(self.aws, row, request.urn, new, request.resource_id, olds)
        if request.preview:
            due = any(call.changed(*update.inputs) for update in row.updates)
            state = merged(old, {**dict.fromkeys(row.renewed if due else (), UNKNOWN), **new})
            return api.UpdateResponse(wrap_map({key: value for key, value in state.items() if key != INPUTS}, secrets))
        await asyncio.to_thread(_update, call)
        return api.UpdateResponse(await asyncio.to_thread(_ready, call, secrets))

    async def delete(self, request: api.DeleteRequest) -> None:
        """Delete; what is gone already is fine."""
        row, state = ROWS[type_of(request.urn)], plain_map(request.properties)
        call = Call(self.aws, row, request.urn, state.get(INPUTS, state), request.resource_id)
        await asyncio.to_thread(row.delete, call)

    async def invoke(self, request: api.InvokeRequest) -> api.InvokeResponse:
        """Answer one of the functions."""
        arguments = {key: value for key, value in plain_map(request.args).items() if not key.startswith("__")}
        answer = await asyncio.to_thread(functions.invoke, self.aws, request.tok, arguments)
        return api.InvokeResponse(return_value=wrap_map(answer))


def configured(settings: Mapping[str, Any]) -> Aws:
    """Return AWS for a provider's settings. Raises :class:`StandInError` without a region or a loopback address."""
    endpoint = aws_endpoint()
    for row in settings.get("endpoints") or []:
        for service, url in row.items():
            loopback_url(url, f"the provider's endpoint for {service}")
    region = settings.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise StandInError("no region: set aws:region, or AWS_REGION")
    tags = (settings.get("defaultTags") or {}).get("tags") or {}
    aws = Aws(endpoint, str(region), {str(key): str(value) for key, value in tags.items()})
    allowed = settings.get("allowedAccountIds")
    if allowed and aws.account not in allowed:
        raise StandInError(
            f"the sandbox's AWS account {aws.account} is not among allowedAccountIds {', '.join(allowed)}"
        )
    return aws


def decode(value: Value) -> Value:
    """Decode nested provider settings, which travel as JSON text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def completed(
    row: Row, urn: str, logical: str, new: Record, generation: int, default_tags: Mapping[str, str]
) -> Record:
    """Return inputs with the physical name, all tags and the generation filled in."""
    inputs = {**new, GENERATION: generation}
    if row.name and row.name.name not in inputs:
        prefix = inputs.get(row.name.prefix) or f"{logical}-"
        inputs[row.name.name] = UNKNOWN if has_unknown(prefix) else auto_name(prefix, urn, generation, row.name.limit)
    if row.tags:
        tags = new.get("tags", {})
        inputs["tagsAll"] = UNKNOWN if tags == UNKNOWN else {**default_tags, **tags}
    return inputs


def _state(call: Call) -> Record | None:
    """Return the state after a read, ``None`` when the thing is gone; its inputs are those that AWS has."""
    live = call.row.read(call)
    if live is None:
        return None
    inputs = drift.seen(call.row, call.news, live)
    return {**merged({name: value for name, value in live.items() if value is not None}, inputs), INPUTS: inputs}


def _ready(call: Call, secrets: frozenset[str]) -> dict[str, PropertyValue]:
    """Return the state after a change. Raises :class:`InitializationError` with it if the thing is not ready."""
    state = _state(call)
    if state is None:
        raise StandInError(f"{call.row.token} {call.id} is not there right after it was made")
    properties = wrap_map(state, secrets)
    fault = call.row.fault(call) if call.row.fault else ""
    if fault:
        raise InitializationError(call.id, properties, fault)
    return properties


def _update(call: Call) -> None:
    for update in call.row.updates:
        if call.changed(*update.inputs):
            update.apply(call)
    if call.row.tags and call.changed("tagsAll"):
        old, new = call.olds.get("tagsAll", {}), call.tags
        put = {key: new[key] for key in sorted(new) if old.get(key) != new[key]}
        call.row.tags.change(call, put, sorted(set(old) - set(new)))
