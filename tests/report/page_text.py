"""What a reader finds on the page of a report: its text, by section."""

from __future__ import annotations

from html.parser import HTMLParser


class _Text(HTMLParser):
    """Text without style and script; that of each section by its identifier."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.sections: dict[str, list[str]] = {}
        self._section = ""
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden = tag in {"style", "script"}
        if tag == "section":
            self._section = str(dict(attrs)["id"])
            self.sections[self._section] = []

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False
        if tag == "section":
            self._section = ""

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        self.parts.append(data)
        if self._section:
            self.sections[self._section].append(data)


def _read(html: str) -> _Text:
    found = _Text()
    found.feed(html)
    found.close()
    return found


def text_of(html: str) -> str:
    """All text, with single spaces."""
    return " ".join(" ".join(_read(html).parts).split())


def sections(html: str) -> dict[str, str]:
    """The text of each section, by its identifier."""
    return {name: " ".join(" ".join(parts).split()) for name, parts in _read(html).sections.items()}
