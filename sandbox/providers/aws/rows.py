"""The rows of the resource tables, and the arguments of their functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from botocore.exceptions import ClientError

from sandbox.clients import get_client
from sandbox.providers.aws import shapes
from sandbox.providers.aws.sdk import read_properties
from sandbox.providers.values import UNKNOWN, Record, Value

_GONE: Final = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "DefaultVersionNotFound",
        "InvalidDocument",
        "NatGatewayNotFound",
        "NoSuchEntity",
        "NotFoundException",
        "ParameterNotFound",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    }
)

_SUFFIX: Final = 26
_OF_ROWS: Final = frozenset({"region", "tags", "tagsAll"})
"""Properties that are not inputs of a row."""
_ENDING: Final = ("deleted", "deleting", "PendingDeletion")


@dataclass(slots=True)
class Aws:
    """The sandbox's AWS as one configured provider sees it: address, region, account, default tags."""

    endpoint: str
    region: str
    default_tags: Mapping[str, str] = field(default_factory=dict)
    partition: str = "aws"
    _account: str = ""

    def client(self, service: str) -> Value:
        """Return boto3's client of a service, which checks parameters."""
        return get_client(service, self.endpoint, self.region)

    @property
    def account(self) -> str:
        """The account id, queried once."""
        if not self._account:
            self._account = str(self.client("sts").get_caller_identity()["Account"])
        return self._account

    def arn(self, service: str, resource: str) -> str:
        """Return an ARN in this region and account."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, slots=True)
class Tags:
    """The operations that put tags on a thing and take them away after its creation.

    ``by`` is the argument that names the thing: by its id, or by the ARN that the output ``arn`` has. ``fixed`` are
    arguments that are always sent. ``listed`` is the operation that returns them, if the thing's description does not.
    """

    service: str
    put: str
    take: str
    by: str
    arn: str = ""
    fixed: Mapping[str, str] = field(default_factory=dict)
    listed: str = ""

    def show(self, call: Call, found: Record, shown: Record) -> dict[str, str]:
        """Return the tags of a thing as it is ``found``, without those of AWS."""
        if self.listed:
            name = str(shown[self.arn]) if self.arn else call.id
            found = call.do(self.service, self.listed, {**self.fixed, self.by: name})
        rows: Value = next((found[key] for key in found if key.lower() in ("tags", "taglist")), {})
        if isinstance(rows, list):
            rows = dict(tuple(row[key] for key in sorted(row)) for row in rows)
        return {key: value for key, value in sorted(rows.items()) if not key.startswith("aws:")}

    def change(self, call: Call, put: Mapping[str, str], take: Sequence[str]) -> None:
        """Take tags away by their keys, then put others, each as botocore's model of the operation has them."""
        named = {**self.fixed, self.by: (call.row.read(call) or {}).get(self.arn) if self.arn else call.id}
        if take:
            keys = next((name for name in call.shape(self.service, self.take).members if name.lower() == "tagkeys"), "")
            call.do(
                self.service, self.take, {**named, **({keys: take} if keys else {"Tags": [{"Key": k} for k in take]})}
            )
        if put:
            call.do(self.service, self.put, {**named, **tag_arguments(call.shape(self.service, self.put), put)})


@dataclass(frozen=True, slots=True)
class Name:
    """The input that names a resource, the one with a prefix (empty where there is none), and AWS's length limit.

    Terraform ends a prefix with 26 characters (terraform-plugin-sdk, ``helper/id``, ``UniqueIDSuffixLength``), so a
    prefix is shorter by as many.
    """

    limit: int
    name: str = "name"
    prefix: str = "namePrefix"

    def failures(self, inputs: Record) -> Iterator[tuple[str, str]]:
        """Yield the inputs that are too long, with what the provider says."""
        for key, longest in ((self.name, self.limit), (self.prefix, self.limit - _SUFFIX)):
            value = inputs.get(key, "")
            if value != UNKNOWN and len(value) > longest:
                yield key, f"{key!r} cannot be longer than {longest} characters"


@dataclass(frozen=True, slots=True)
class Update:
    """Inputs that change in place, and the call that changes them."""

    inputs: tuple[str, ...]
    apply: Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One resource type.

    ``create`` returns the id. ``read`` returns live values, those of inputs among them (``None`` for one that AWS does
    not have), and ``None`` when the thing is gone. ``inputs`` are those with an effect, ``ignored`` those that are kept
    and do nothing in the sandbox. An input that no update names forces a replacement, and so does a change of a path in
    ``forced``, and to omit one in ``irreversible``. ``outputs`` are those inside inputs; all others are the SDK's.
    ``renewed`` are outputs that an update can change. ``fault`` returns why a thing is not ready, empty if it is.

    ``source`` is a file and a function of hashicorp/terraform-provider-aws, below ``internal/service``, in versions of
    2023 to 2026: the one that pulumi-aws 7.51.1 has inside is not public as a whole. The SDK of exactly that version
    says which inputs are optional and computed (outputs that are always there). ``computed`` are paths inside inputs
    that are so too (``path.*`` for all inside), ``defaults`` those of other inputs.
    """

    token: str
    create: Callable[[Call], str]
    read: Callable[[Call], Record | None]
    delete: Callable[[Call], Any]
    source: str
    inputs: tuple[str, ...]
    computed: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    updates: tuple[Update, ...] = ()
    ignored: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    irreversible: tuple[str, ...] = ()
    fault: Callable[[Call], str] | None = None
    tags: Tags | None = None
    name: Name | None = None
    delete_first: bool = False

    def is_computed(self, path: str) -> bool:
        """Return whether an input that the program omits keeps what AWS has: it is optional and computed."""
        if path in self.inputs:
            return read_properties(self.token)[path] and path not in self.defaults
        outer = (path[:end] for end in range(len(path)) if path[end] == ".")
        return path in self.computed or any(f"{each}.*" in self.computed for each in outer)

    def known_inputs(self) -> frozenset[str]:
        """Return every input the row takes."""
        naming = tuple(filter(None, (self.name.name, self.name.prefix))) if self.name else ()
        return frozenset((*self.inputs, *self.ignored, *naming, *(("tags",) if self.tags else ()), "region"))

    def replaces(self, path: str) -> bool:
        """Return whether a change at a property path forces a replacement."""
        tagged = ("tags", "tagsAll") if self.tags else ()
        in_place = {*self.ignored, *tagged, *(name for update in self.updates for name in update.inputs)}
        top = path.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]
        return top not in in_place or any(
            path == forced or path.startswith((f"{forced}.", f"{forced}[")) for forced in self.forced
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One request: the resource, its inputs now and before, and the way to AWS."""

    aws: Aws
    row: Row
    urn: str
    news: Record
    id: str = ""
    olds: Record = field(default_factory=dict)

    def __getitem__(self, name: str) -> Value:
        """An input, or ``None``."""
        return self.news.get(name)

    def with_id(self, identifier: str) -> Call:
        """Return the same call, about a thing that is there now."""
        return replace(self, id=identifier)

    @property
    def tags(self) -> dict[str, str]:
        """All tags: the team's and the default ones."""
        return {key: str(value) for key, value in self.news.get("tagsAll", {}).items()}

    def fill(self, template: str) -> str:
        """Fill inputs, ``{id}``, ``{region}``, ``{partition}`` and ``{account}`` into a template."""
        aws = self.aws
        known = {"id": self.id, "region": aws.region, "partition": aws.partition, "account": aws.account}
        return template.format_map({**self.news, **known})

    def named(self, service: str, operation: str, by: Mapping[str, str]) -> Record:
        """Return the arguments that name a thing; one that the operation has only in the plural gets an ``s``."""
        members = self.shape(service, operation).members
        return {key if key in members else f"{key}s": self.fill(value) for key, value in by.items()}

    def shape(self, service: str, operation: str) -> Value:
        """Return botocore's shape of an operation's arguments."""
        client = self.aws.client(service)
        return client.meta.service_model.operation_model(client.meta.method_to_api_mapping[operation]).input_shape

    def pick(self, *names: str) -> Record:
        """Return those of the named inputs that are set."""
        return {name: self.news[name] for name in names if name in self.news}

    def changed(self, *names: str) -> Record:
        """Return the new values of those of the named inputs that differ from before."""
        return {name: self.news.get(name) for name in names if self.news.get(name) != self.olds.get(name)}

    def do(self, service: str, operation: str, values: Mapping[str, Any] | None = None) -> Value:
        """Call an operation with values in Pulumi's or AWS's spelling. Raises ClientError, :class:`StandInError`."""
        shape, where = self.shape(service, operation), f"{self.row.token} {operation}"
        arguments = shapes.arguments(shape, values or {}, where)
        return getattr(self.aws.client(service), operation)(**arguments)

    def find(self, service: str, operation: str, path: str, values: Mapping[str, Any]) -> Value:
        """Return the thing at a path of an answer, or ``None`` when there is none."""
        answer = self.quietly(service, operation, values)
        return None if answer is None else at(answer, path)

    def quietly(self, service: str, operation: str, values: Mapping[str, Any]) -> Value:
        """Call an operation that may find nothing left to do."""
        try:
            return self.do(service, operation, values)
        except ClientError as error:
            if not gone(error):
                raise
            return None


@dataclass(frozen=True, slots=True)
class Api:
    """How a type is created, read and deleted that has one operation for each.

    ``by`` names a thing to ``read`` and ``delete``: arguments and templates (:meth:`Call.fill`). ``id`` is a template,
    or a path in the answer of ``create``; ``path`` leads to the thing in the answer of ``read``. ``live`` has the
    outputs and inputs that the thing has under another name: a path or a template.
    ``kind`` is EC2's name of the type in tag specifications; ``fixed`` is sent at creation, ``aliases`` are names of
    inputs that AWS has under another name.
    """

    service: str
    create: str
    read: str
    delete: str
    by: Mapping[str, str]
    id: str
    path: str = ""
    kind: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    live: Mapping[str, str] = field(default_factory=dict)

    def make(self, call: Call, more: Mapping[str, Any] | None = None) -> str:
        """Create the thing with the inputs that the operation takes, then apply the updates that have the others."""
        shape = call.shape(self.service, self.create)
        members = {name.lower() for name in shape.members}
        given = call.pick(*call.row.inputs, *((call.row.name.name,) if call.row.name else ()))
        sent = [name for name in given if self.aliases.get(name, name).lower() in members]
        values = {self.aliases.get(name, name): given[name] for name in sent}
        tags = tag_arguments(shape, call.tags, self.kind)
        answer = call.do(self.service, self.create, {**self.fixed, **values, **(more or {}), **tags})
        made = call.with_id(call.fill(self.id) if "{" in self.id or not self.id else str(at(answer, self.id)))
        for update in call.row.updates:
            if set(update.inputs) & (set(given) - set(sent) - set(more or ())):
                update.apply(made)
        return made.id

    def find(self, call: Call) -> Record | None:
        """Return the thing as AWS describes it; one that is being deleted counts as gone."""
        found = call.find(self.service, self.read, self.path, call.named(self.service, self.read, self.by))
        return None if found is None or found.get("State", found.get("KeyState")) in _ENDING else found

    def show(self, call: Call) -> Record | None:
        """Return the outputs and inputs that the thing has, by their names in the SDK."""
        found = self.find(call)
        if found is None:
            return None
        names = {*read_properties(call.row.token)} - _OF_ROWS | {*call.row.inputs, *self.aliases, *self.live}
        values = {name: self._value(call, found, self.live.get(name, self.aliases.get(name, name))) for name in names}
        shown = {name: value for name, value in values.items() if value is not None}
        if call.row.tags:
            shown["tagsAll"] = call.row.tags.show(call, found, shown)
        return shown

    def _value(self, call: Call, found: Record, source: str) -> Value:
        value = call.fill(source) if "{" in source else at(found, source, whole=True)
        return value.isoformat() if isinstance(value, datetime) else spelled(value) if self.service == "ec2" else value

    def drop(self, call: Call) -> None:
        """Delete the thing; one that is gone already is fine."""
        call.quietly(self.service, self.delete, call.named(self.service, self.delete, self.by))


def operations(service: str, noun: str, by: Mapping[str, str], id: str, path: str = "", **other: Any) -> Api:  # noqa: A002 (a field)
    """Return the operations that a service names after a noun: ``create_role`` and so on; ``other`` differs."""
    names = {"create": f"create_{noun}", "read": f"describe_{noun}", "delete": f"delete_{noun}"}
    return Api(service, **{**names, "by": by, "id": id, "path": path, **other})


def simple(token: str, api: Api, *, create: Callable[[Call], str] | None = None, **row: Any) -> Row:
    """Return the row of a type that ``api`` is enough for; functions in ``row`` stand in for those of ``api``."""
    return Row(token, create or api.make, row.pop("read", api.show), row.pop("delete", api.drop), **row)


def sends(
    service: str, operation: str, by: Mapping[str, str], *names: str, quiet: bool = False, **aliases: str
) -> Callable[[Call], Any]:
    """Return a function that calls an operation with templates and with inputs; ``quiet`` if nothing may be left."""

    def run(call: Call) -> Value:
        values = {key: call.fill(value) for key, value in by.items()}
        values |= {aliases.get(name, name): value for name, value in call.pick(*names).items()}
        return (call.quietly if quiet else call.do)(service, operation, values)

    return run


def at(answer: Value, path: str, *, whole: bool = False) -> Value:
    """Return what is at a path, whatever the case of its keys; of a list the first, unless it is the ``whole`` end."""
    keys = path.split(".") if path else []
    for number, key in enumerate(keys, 1):
        rows = {name.lower(): value for name, value in answer.items()} if isinstance(answer, dict) else {}
        answer = rows.get(key.lower())
        if isinstance(answer, list) and not (whole and number == len(keys)):
            answer = answer[0] if answer else None
    return answer


def spelled(answer: Value) -> Value:
    """Return a structure of an answer in Pulumi's spelling: ``VolumeSize`` is ``volumeSize``."""
    if isinstance(answer, dict):
        return {key[:1].lower() + key[1:]: spelled(value) for key, value in answer.items()}
    return [spelled(item) for item in answer] if isinstance(answer, list) else answer


def tag_arguments(shape: Value, tags: Mapping[str, str], kind: str = "") -> Record:
    """Return tags as an operation takes them: EC2's specification of a ``kind``, a map, or a list of pairs."""
    name = next((name for name in shape.members if name.lower() in ("tags", "tagspecifications")), "")
    if not tags or not name:
        return {}
    member = shape.members[name]
    if name == "TagSpecifications":
        return {name: [{"ResourceType": kind, "Tags": pairs(tags)}]}
    return {name: tags if member.type_name == "map" else pairs(tags, *sorted(member.member.members))}


def pairs(tags: Mapping[str, str], key: str = "Key", value: str = "Value") -> list[dict[str, str]]:
    """Return a map of tags as AWS's list of pairs, sorted by key."""
    return [{key: name, value: str(tags[name])} for name in sorted(tags)]


def error_code(error: ClientError) -> str:
    """Return AWS's name of an error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def gone(error: ClientError) -> bool:
    """Return whether an error says that the thing does not exist."""
    code = error_code(error)
    return code in _GONE or code.endswith((".NotFound", "NotFound", "NotFoundException"))


def nothing(_call: Call) -> None:
    """Skip inputs that a later call uses, and what AWS has no call for."""
