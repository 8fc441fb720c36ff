"""The admission webhook: its configuration file, and its section of the stack file."""

from typing import Annotated, Literal

from pydantic import Field

from multiarch.schema.base import Section, TaintText, get_section_default, take_form

ModeName = Literal["tolerate", "prefer", "pin", "observe"]
_HOST = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_REGISTRY = r"(?:[A-Za-z0-9._*-]+|\[[0-9A-Fa-f:.*]+\])(?::[0-9]{1,5}|:\*)?"
_NAMESPACED = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_GROUP = r"[0-9A-Fa-f]{1,4}"
_IPV6 = "|".join(
    [rf"(?:{_GROUP}:){{7}}{_GROUP}", rf"(?:{_GROUP}:){{1,7}}:", rf":(?::{_GROUP}){{1,7}}", "::"]
    + [rf"(?:{_GROUP}:){{1,{left}}}(?::{_GROUP}){{1,{7 - left}}}" for left in range(1, 7)]
)
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_NETWORK = (
    rf"{_OCTET}(?:\.{_OCTET}){{3}}(?:/(?:3[0-2]|[12]?[0-9]))?|(?:{_IPV6})(?:/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?"
)
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
SUBDOMAIN_PATTERN = rf"{_LABEL}(?:\.{_LABEL})*"
_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_TAINT = rf"(?:{SUBDOMAIN_PATTERN}/)?{_NAME}(?:=(?:{_NAME})?)?:(?:NoSchedule|PreferNoSchedule|NoExecute)"


Registry = Annotated[
    str,
    take_form(f"^(?:{_REGISTRY})$", "HOST or HOST:PORT, with * for any characters, as in *.dkr.ecr.*.amazonaws.com"),
]
Host = Annotated[str, take_form(f"^(?:{_HOST})$", "HOST or HOST:PORT, such as registry.example.com:5000")]
PullSecret = Annotated[
    str, take_form(f"^(?:{_NAMESPACED})$", "NAMESPACE/NAME, such as team-a/registry", "team-a/registry")
]
Network = Annotated[str, take_form(f"^(?:{_NETWORK})$", "a CIDR block, such as 10.1.2.0/24", "10.1.2.0/24")]
WebhookTaint = Annotated[TaintText, Field(json_schema_extra={"pattern": f"^(?:{_TAINT})$"})]
"""Its faults have messages of their own."""


class CacheConfiguration(Section):
    """What the webhook remembers of images."""

    memory_mib: Annotated[int, Field(ge=1, le=65536)] = 64
    """Maximum memory for remembered images, in MiB, at 512 bytes for each; the least recently used are dropped."""
    fresh_seconds: Annotated[int, Field(ge=1, le=86400)] = 300
    """How long a tag is believed to point at the same image; it is then looked up again in the background."""
    stale_seconds: Annotated[int, Field(ge=0, le=604800)] = 3600
    """How long after that a tag is still believed while the registry does not answer."""
    failure_seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    """How long a failed look-up is remembered, so that not every pod waits for it."""


class RegistriesConfiguration(Section):
    """Which registries may be queried, and how."""

    allowed: list[Registry] = ["*"]
    """Registries of images that may be looked up, as HOST or HOST:PORT with ``*`` for any characters: ``docker.io``,
    ``*.dkr.ecr.*.amazonaws.com``, ``registry.example:*``. Without a port, an entry is for port 443. Names within the
    cluster (``registry.tools.svc``) need an entry without ``*``. A registry's token server and the hosts that it
    redirects to need no entry.
    """
    allowed_networks: list[Network] = []
    """Networks of registries with private addresses, as CIDR blocks. All addresses that are not public are rejected
    otherwise, also those of mirrors, token servers and redirects: a pod's author chooses the name, and could make the
    webhook connect to services inside the network. Keep the blocks small, such as 10.1.2.3/32. Amazon ECR's private
    registries and their layers in S3 need no entry: with VPC endpoints they have private addresses, and only AWS and
    the owner of the VPC's DNS can give these names an address. Instance metadata and other link-local addresses are
    only allowed by a block that has nothing else. Behind an HTTP proxy only names are checked, and the proxy has to
    reject addresses inside the network.
    """
    plain_http: list[Host] = []
    """Registries (HOST or HOST:PORT) that may be queried without TLS, also on loopback addresses."""
    ca_files: list[str] = []
    """PEM files with certificates to trust besides the system's."""
    hosts_dir: str | None = None
    """A folder with mirrors, like containerd's ``/etc/containerd/certs.d``. Mirrors need no entry in ``allowed``;
    their private addresses need one in ``allowedNetworks``.
    """
    docker_config: str | None = None
    """A ``config.json`` with credentials for registries."""
    ecr: bool = True
    """Get credentials for Amazon ECR with the pod's AWS role."""
    pull_secrets: list[PullSecret] = []
    """Pull secrets (NAMESPACE/NAME) that the webhook may read, and uses for pods that name them. The namespaces must
    exist when the webhook is installed, because each gets a Role.
    """


class Limits(Section):
    """Bounds of one review."""

    body_kib: Annotated[int, Field(ge=16, le=16384)] = 3072
    """The largest request body in KiB."""
    images: Annotated[int, Field(ge=1, le=1000)] = 100
    """The most different images of a pod; a pod with more is left alone."""
    look_ups: Annotated[int, Field(ge=1, le=10000)] = 256
    """The maximum number of images that are looked up at the same time; at most half of them at one registry."""


class WebhookConfiguration(Section):
    """How the webhook decides. ``multiarch webhook serve --config`` reads a file with these keys."""

    mode: ModeName = "tolerate"
    """What is done to pods of namespaces without the label ``multiarch-eks/webhook``."""
    architectures: Annotated[
        list[Literal["amd64", "arm64"]], Field(min_length=1, json_schema_extra={"uniqueItems": True})
    ] = ["amd64", "arm64"]
    """The architectures that every image of a pod must support: those of the nodes with the taints."""
    taints: Annotated[list[WebhookTaint], Field(min_length=1)] = ["arch=arm64:NoSchedule"]
    """The taints that such a pod is let onto, as kubectl writes them."""
    preferred_weight: Annotated[int, Field(ge=1, le=100)] = 100
    """The weight of the preference for arm64 nodes in mode ``prefer``."""
    deadline_seconds: Annotated[float, Field(ge=0.1, le=2.5)] = 1.5
    """How long a pod waits for its images to be looked up; then it is left alone. The look-up goes on. The API server
    waits 3 s for the answer.
    """
    annotate: bool = False
    """Write the decision into the pod's annotation ``multiarch-eks/decision``."""
    warnings: bool = False
    """Return a warning, which kubectl shows, for a pod that is left alone because of its images."""
    cache: CacheConfiguration = get_section_default(CacheConfiguration)
    """What is remembered of images."""
    registries: RegistriesConfiguration = get_section_default(RegistriesConfiguration)
    """Which registries may be queried, and how."""
    limits: Limits = get_section_default(Limits)
    """Bounds of one review."""
