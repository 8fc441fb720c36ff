"""Reports as the script prints them, for tests."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Sequence

ARM64 = "7f454c460201010000000000000000000200b700"
AMD64 = "7f454c4602010100000000000000000002003e00"
UNAME = ("uname", "aarch64", "6.12.30-33.93.amzn2023.aarch64")
CONFIG = "sha256:" + "c" * 64
MANIFEST = "sha256:" + "d" * 64
CONTAINER = "0123456789abcdef" * 4


def content(rows: Iterable[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def plain(text: str) -> str:
    return f"multiarch-node-report 1 plain\n{text}\nend {len(text)}\n"


def packed(text: str) -> str:
    body = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f"multiarch-node-report 1 gzip\n{body}\nend {len(body)}\n"


def report(*rows: Sequence[str]) -> str:
    """The output for these lines, after the one that says the architecture."""
    return packed(content([UNAME, *rows]))
