"""The objects that install the webhook, for kubectl: its Helm chart, rendered when the project is released.

``manifests.yaml`` is what ``helm template`` gives with cert-manager and the placeholders below; ``make generate``
writes it. A certificate of Helm's own can't be in there: everybody would have its key.
"""

from __future__ import annotations

import re
from importlib import resources

from multiarch.errors import MultiarchError
from multiarch.facts.admission import INSTALLATION_NAME
from multiarch.registry.reference import parse_reference
from multiarch.schema.base import LABEL_PATTERN
from multiarch.schema.webhook_installation import NAME_PATTERN

IMAGE, NAME, NAMESPACE = "image-of-the-webhook", "name-of-the-webhook", "namespace-of-the-webhook"
"""Placeholders, none of which is a part of another."""
FILE = "manifests.yaml"


def render_manifests(image: str, *, name: str = INSTALLATION_NAME, namespace: str = INSTALLATION_NAME) -> str:
    """Return the objects as YAML, the Namespace first.

    Raises MultiarchError for an image or a name that is not valid.
    """
    parse_reference(image)
    for what, value, pattern in (("name", name, NAME_PATTERN), ("namespace", namespace, LABEL_PATTERN)):
        if not re.fullmatch(pattern, value):
            message = f"{value!r} is not a valid {what}."
            raise MultiarchError(message, hint="Use lower-case letters, digits and hyphens, and begin with a letter.")
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    for placeholder, value in ((IMAGE, image), (NAME, name), (NAMESPACE, namespace)):
        text = text.replace(placeholder, value)
    return text
