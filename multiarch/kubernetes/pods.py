"""The pods of loaded objects, with errors that name the file or the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.kubernetes.source import LoadedObject, placed
from multiarch.manifests.values import ManifestError
from multiarch.scheduling.pods import Pod, pods_from


def pods_in(found: Sequence[LoadedObject]) -> tuple[Pod, ...]:
    """The pods that the objects are or make, as :func:`multiarch.scheduling.pods.pods_from` reads them.

    Raises MultiarchError, naming the object's source, for what Kubernetes would refuse.
    """
    try:
        return tuple(pods_from(each.value for each in found))
    except ManifestError as error:
        raise placed(error, found) from error
