"""How the site reads the code for the Python API's page (an extension of griffe, which mkdocstrings uses)."""

from __future__ import annotations

import re

import griffe

_ROLE = re.compile(r":(?:class|data|func|meth|mod):(`[^`]+`)")


class Public(griffe.Extension):
    """Leave special methods out, and write the names that docstrings refer to as code."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Change one object after it was read."""
        if obj.name.startswith("__"):
            obj.public = False
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"\1", obj.docstring.value)
