"""The rows of the resource tables, and the arguments of their functions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from sandbox.providers import IDENTITY_TAG, StandInError, identity
from sandbox.providers.aws import shapes
from sandbox.providers.values import GENERATION, Record, Value

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


@dataclass(slots=True)
class Aws:
    """The sandbox's AWS as one configured provider sees it: address, region, account, default tags."""

    endpoint: str
    region: str
    default_tags: Mapping[str, str] = field(default_factory=dict)
    partition: str = "aws"
    _clients: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _account: str = ""

    def client(self, service: str) -> Value:
        """The boto3 client of a service, made once. botocore checks parameters; credentials are made up."""
        with self._lock:
            if service not in self._clients:
                self._clients[service] = boto3.client(
                    service,
                    endpoint_url=self.endpoint,
                    region_name=self.region,
                    aws_access_key_id="sandbox",
                    aws_secret_access_key="sandbox",  # noqa: S106 - moto takes any
                    config=Config(retries={"max_attempts": 4, "mode": "standard"}, parameter_validation=True),
                )
            return self._clients[service]

    @property
    def account(self) -> str:
        """The account id, asked once."""
        if not self._account:
            self._account = str(self.client("sts").get_caller_identity()["Account"])
        return self._account

    def arn(self, service: str, resource: str) -> str:
        """An ARN in this region and account."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, slots=True)
class Tags:
    """How a kind of resource takes tags after its creation; both are given the call and what to put or take."""

    put: Callable[[Call, dict[str, str]], Any]
    take: Callable[[Call, list[str]], Any]


@dataclass(frozen=True, slots=True)
class Name:
    """The input that names a resource, the one with a prefix (empty where there is none), and AWS's length limit."""

    limit: int
    name: str = "name"
    prefix: str = "namePrefix"


@dataclass(frozen=True, slots=True)
class Update:
    """Inputs that change in place, and the call that changes them."""

    inputs: tuple[str, ...]
    apply: Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One resource type.

    ``create`` returns the id and may be called again after a crash: it finds what is already there. ``read``
    returns live values, inputs among them where drift is followed, and ``None`` when the thing is gone.
    ``inputs`` are those with an effect, ``ignored`` those that are kept and do nothing in the sandbox. An input
    that no update names forces a replacement, and so does a change of a path in ``forced``. ``renewed``
    are outputs that an update may change.
    """

    token: str
    create: Callable[[Call], str]
    read: Callable[[Call], Record | None]
    delete: Callable[[Call], Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    updates: tuple[Update, ...] = ()
    ignored: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    tags: Tags | None = None
    name: Name | None = None
    delete_first: bool = False

    def known_inputs(self) -> frozenset[str]:
        """Every input the row takes."""
        naming = tuple(filter(None, (self.name.name, self.name.prefix))) if self.name else ()
        return frozenset((*self.inputs, *self.ignored, *naming, *(("tags",) if self.tags else ()), "region"))

    def replaces(self, path: str) -> bool:
        """Whether a change at a property path forces a replacement."""
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
        """The same call, about a thing that is there now."""
        return replace(self, id=identifier)

    @property
    def identity(self) -> str:
        """What the identity tag says of this resource."""
        return identity(self.urn, int(self.news.get(GENERATION, 0)))

    @property
    def tags(self) -> dict[str, str]:
        """All tags at creation: the team's, the default ones, and the identity."""
        return {**{key: str(value) for key, value in self.news.get("tagsAll", {}).items()}, IDENTITY_TAG: self.identity}

    def tag_rows(self, key: str = "Key", value: str = "Value") -> list[dict[str, str]]:
        """:attr:`tags` as a list of pairs, sorted."""
        return pairs(self.tags, key, value)

    def pick(self, *names: str) -> Record:
        """Those of the named inputs that are set."""
        return {name: self.news[name] for name in names if name in self.news}

    def changed(self, *names: str) -> Record:
        """The new values of those of the named inputs that differ from before."""
        return {name: self.news.get(name) for name in names if self.news.get(name) != self.olds.get(name)}

    def do(
        self,
        service: str,
        operation: str,
        values: Mapping[str, Any] | None = None,
        aliases: shapes.Aliases | None = None,
    ) -> Value:
        """Call an operation with values in Pulumi's or AWS's spelling. Raises ClientError, :class:`StandInError`."""
        client = self.aws.client(service)
        model = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[operation])
        where = f"{self.row.token} {operation}"
        return getattr(client, operation)(**shapes.arguments(model.input_shape, values or {}, aliases or {}, where))

    def find(
        self, service: str, operation: str, path: str, values: Mapping[str, Any], aliases: shapes.Aliases | None = None
    ) -> Value:
        """The first thing of an answer, or ``None`` when there is none. ``path`` is its key, dots for nested ones."""
        try:
            answer = self.do(service, operation, values, aliases)
        except ClientError as error:
            if gone(error):
                return None
            raise
        for key in path.split("."):
            answer = answer.get(key) if isinstance(answer, dict) else None
            if isinstance(answer, list):
                answer = answer[0] if answer else None
        return answer

    def quietly(
        self, service: str, operation: str, values: Mapping[str, Any], aliases: shapes.Aliases | None = None
    ) -> Value:
        """Call an operation that may find nothing left to do."""
        try:
            return self.do(service, operation, values, aliases)
        except ClientError as error:
            if not gone(error):
                raise
            return None

    def make(self, create: Callable[[], Any], taken: str, tags: Callable[[], Mapping[str, str]]) -> None:
        """Create a named thing, or adopt it when it carries this resource's identity.

        ``taken`` is the error code of a name that is in use; ``tags`` reads the tags of the thing there.
        Raises :class:`StandInError` if another object has the name.
        """
        try:
            create()
        except ClientError as error:
            if error_code(error) != taken:
                raise
            if tags().get(IDENTITY_TAG) != self.identity:
                message = error.response.get("Error", {}).get("Message", "")
                raise StandInError(f"{self.row.token}: {message or 'the name is in use'}") from error


def pairs(tags: Mapping[str, str], key: str = "Key", value: str = "Value") -> list[dict[str, str]]:
    """A map of tags as AWS's list of pairs, sorted by key."""
    return [{key: name, value: str(tags[name])} for name in sorted(tags)]


def unpairs(rows: list[dict[str, str]] | None, key: str = "Key", value: str = "Value") -> dict[str, str]:
    """AWS's list of pairs as a map."""
    return {row[key]: row[value] for row in rows or []}


def error_code(error: ClientError) -> str:
    """AWS's name of an error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def gone(error: ClientError) -> bool:
    """Whether an error says that the thing does not exist."""
    code = error_code(error)
    return code in _GONE or code.endswith((".NotFound", "NotFound", "NotFoundException"))


def nothing(_call: Call) -> None:
    """Does nothing: for inputs that a later call uses, and for what AWS has no call for."""
