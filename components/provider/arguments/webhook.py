"""Generated from multiarch/schema/webhook.py by ``make generate``: arguments of components."""

from typing import NotRequired, TypedDict


class CacheConfigurationSettings(TypedDict):
    """What the webhook remembers of images."""

    memoryMib: NotRequired[int]
    """Maximum memory for remembered images, in MiB, at 512 bytes for each; the least recently used are dropped.
    Default: 64.
    """

    freshSeconds: NotRequired[int]
    """How long a tag is believed to point at the same image; it is then looked up again in the background. Default:
    300.
    """

    staleSeconds: NotRequired[int]
    """How long after that a tag is still believed while the registry does not answer. Default: 3600."""

    failureSeconds: NotRequired[int]
    """How long a failed look-up is remembered, so that not every pod waits for it. Default: 30."""


class LimitsSettings(TypedDict):
    """Bounds of one review."""

    bodyKib: NotRequired[int]
    """The largest request body in KiB. Default: 3072."""

    images: NotRequired[int]
    """The most different images of a pod; a pod with more is left alone. Default: 100."""

    lookUps: NotRequired[int]
    """The most images that are looked up at the same time; at most half of them at one registry. Default: 256."""


class RegistriesConfigurationSettings(TypedDict):
    """Which registries may be asked, and how."""

    allowed: NotRequired[list[str]]
    """Registries of images that may be looked up, as HOST or HOST:PORT with `*` for any characters: `docker.io`,
    `*.dkr.ecr.*.amazonaws.com`, `registry.example:*`. Without a port, an entry is for port 443. Names within the
    cluster (`registry.tools.svc`) need an entry without `*`. A registry's token server and the hosts that it
    redirects to need no entry.
    """

    allowedNetworks: NotRequired[list[str]]
    """Networks of registries with private addresses, as CIDR blocks. All addresses that are not public are refused
    otherwise, also those of mirrors, token servers and redirects: a pod's author chooses the name, and could make
    the webhook connect to services inside the network. Keep the blocks small, such as 10.1.2.3/32. Amazon ECR's
    private registries and their layers in S3 need no entry: with VPC endpoints they have private addresses, and
    only AWS and the owner of the VPC's DNS can give these names an address. Instance metadata and other link-local
    addresses are only allowed by a block that has nothing else. Behind an HTTP proxy only names are checked, and
    the proxy has to refuse addresses inside the network.
    """

    plainHttp: NotRequired[list[str]]
    """Registries (HOST or HOST:PORT) that may be asked without TLS, also on loopback addresses."""

    caFiles: NotRequired[list[str]]
    """PEM files with certificates to trust besides the system's."""

    hostsDir: NotRequired[str]
    """A folder with mirrors, like containerd's `/etc/containerd/certs.d`. Mirrors need no entry in `allowed`; their
    private addresses need one in `allowedNetworks`.
    """

    dockerConfig: NotRequired[str]
    """A `config.json` with credentials for registries."""

    ecr: NotRequired[bool]
    """Get credentials for Amazon ECR with the pod's AWS role. Default: true."""

    pullSecrets: NotRequired[list[str]]
    """Pull secrets (NAMESPACE/NAME) that the webhook may read, and uses for pods that name them. The namespaces must
    exist when the webhook is installed, because each gets a Role.
    """


class WebhookConfigurationSettings(TypedDict):
    """How the webhook decides. `multiarch webhook serve --config` reads a file with these keys."""

    mode: NotRequired[str]
    """What is done to pods of namespaces without the label `multiarch-eks/webhook`. One of tolerate, prefer, pin,
    observe. Default: tolerate.
    """

    architectures: NotRequired[list[str]]
    """The architectures that every image of a pod must support: those of the nodes with the taints."""

    taints: NotRequired[list[str]]
    """The taints that such a pod is let onto, as kubectl writes them."""

    preferredWeight: NotRequired[int]
    """The weight of the preference for arm64 nodes in mode `prefer`. Default: 100."""

    deadlineSeconds: NotRequired[float]
    """How long a pod waits for its images to be looked up; then it is left alone. The look-up goes on. The API server
    waits 3 s for the answer.
    """

    annotate: NotRequired[bool]
    """Write the decision into the pod's annotation `multiarch-eks/decision`. Default: false."""

    warnings: NotRequired[bool]
    """Return a warning, which kubectl shows, for a pod that is left alone because of its images. Default: false."""

    events: NotRequired[bool]
    """Write a Kubernetes Event for a pod that is left alone because of its images. Default: false."""

    cache: NotRequired[CacheConfigurationSettings]
    """What is remembered of images."""

    registries: NotRequired[RegistriesConfigurationSettings]
    """Which registries may be asked, and how."""

    limits: NotRequired[LimitsSettings]
    """Bounds of one review."""
