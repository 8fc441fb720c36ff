"""Where Helm charts come from."""

from typing import Annotated

from pydantic import Field

from multiarch.facts.autoscalers import Publisher
from multiarch.schema.base import Section, declare_form

_REGISTRY = declare_form(
    r"^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$",
    "a registry with or without a path, such as 111122223333.dkr.ecr.eu-central-1.amazonaws.com/k8s",
)
ImageRegistry = Annotated[
    str, Field(pattern=_REGISTRY, examples=["111122223333.dkr.ecr.eu-central-1.amazonaws.com/ecr-public"])
]


class Charts(Section):
    """The Helm charts of others: of the autoscalers, the node termination handler, and the device plugins."""

    registry: Annotated[
        str | None, Field(examples=["oci://111122223333.dkr.ecr.eu-central-1.amazonaws.com/charts"])
    ] = None
    """An OCI registry of your organisation that has copies of the charts. Each is then taken as ``REGISTRY/NAME``, in
    the same version. Pulumi loads them in every preview. Default: their publishers' registries.
    """
    image_registries: dict[Publisher, ImageRegistry] = {}
    """Registries of your organisation that have the images of these charts, ``HOST`` or ``HOST/PATH`` by the
    publisher's host: ``public.ecr.aws`` (Karpenter, the node termination handler, the EFA device plugin),
    ``registry.k8s.io`` (the cluster autoscaler), ``nvcr.io`` (NVIDIA's device plugin). Repositories keep their names
    below it, as in a pull-through cache of Amazon ECR. Default: the publishers' registries.
    """
