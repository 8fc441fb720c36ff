"""The page as HTML: one file that loads nothing, with a Content Security Policy that allows its own parts only."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.escaping import escape_terminal
from multiarch.report.bars import draw_chart
from multiarch.report.model import Page

_FOLDER = Path(__file__).parent / "page"


class Renderer:
    """Makes pages; what they need is loaded when it is made."""

    def __init__(self) -> None:
        """Load the template. Raises MultiarchError if Jinja2 is not installed."""
        try:
            import jinja2  # noqa: PLC0415 (an extra)
        except ImportError as error:
            raise MultiarchError(
                "Jinja2 is not installed.", hint="Install it beside multiarch: python -m pip install Jinja2"
            ) from error
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_FOLDER),
            autoescape=True,
            finalize=_printable,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        environment.globals["drawn"] = draw_chart
        self._template = environment.get_template("page.html")
        style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
        self._policy = build_content_security_policy(style, script)

    def render(self, page: Page) -> str:
        """Return the HTML. Everything that comes from outside is text in it."""
        return self._template.render(page=page, policy=self._policy)


def build_content_security_policy(style: str, script: str) -> str:
    """Return nothing but this style and this script, by their hashes: no request, no form, no other script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    """Return a source of the policy: https://www.w3.org/TR/CSP3/#grammardef-hash-source."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _printable(value: Any) -> Any:  # noqa: ANN401 (what a template prints)
    """Return text without what would hide or reorder it, such as bidirectional controls."""
    return escape_terminal(value) if type(value) is str else value
