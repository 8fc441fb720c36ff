"""``multiarch/webhook/manifests.yaml``: what ``multiarch webhook manifests`` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from multiarch.manifests import restricted
from multiarch.webhook import manifests
from multiarch.yaml_text.dump import dump
from sandbox.cluster import helm

TARGET: Final = Path(manifests.__file__).with_name(manifests.FILE)


def generate_manifests() -> str:
    """Return the text: the Namespace, and what ``helm template`` gives for the placeholders with cert-manager."""
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": manifests.NAMESPACE, "labels": restricted.enforced()},
    }
    values = {"image": manifests.IMAGE, "name": manifests.NAME, "certificates": "cert-manager"}
    rendered = helm.render_chart(helm.WEBHOOK, values, namespace=manifests.NAMESPACE)
    return "---\n".join(dump(each) for each in (namespace, *rendered))
