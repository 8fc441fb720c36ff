"""Where Helm charts come from."""

from typing import Annotated

from pydantic import Field

from multiarch.schema.base import Section


class Charts(Section):
    """The Helm charts of others: the autoscalers' and the node termination handler's."""

    registry: Annotated[
        str | None, Field(examples=["oci://111122223333.dkr.ecr.eu-central-1.amazonaws.com/charts"])
    ] = None
    """An OCI registry of your organisation that has copies of the charts. Each is then taken as ``REGISTRY/NAME``, in
    the same version. Pulumi loads them in every preview. Default: their publishers' registries.
    """
