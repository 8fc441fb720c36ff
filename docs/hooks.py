"""Docstrings name objects as Sphinx does, ``:class:`X```; the site shows the name alone."""

from __future__ import annotations

import re

_ROLE = re.compile(r":(?:class|data|func|meth|mod):(?=<code>)")


def on_page_content(html: str, **_: object) -> str:
    """Take the roles out of a page."""
    return _ROLE.sub("", html)
