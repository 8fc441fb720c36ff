"""Write all generated files, and print those that changed; with ``--check`` write none, and exit with 1 for any."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from multiarch.stack import json_schema
from tools.generate import ROOT, chart, documents, plugin


def main() -> int:
    """Write the files, in the order in which one needs another."""
    check = sys.argv[1:] == ["--check"]
    outdated = False
    steps: Sequence[Callable[[], dict[Path, str]]] = (
        lambda: {ROOT / json_schema.SCHEMA_FILE: json_schema.render_schema()},
        chart.files,
        lambda: {chart.TARGET: chart.generate_manifests()},
        plugin.files,
        documents.files,
    )
    for step in steps:
        for path, new in step().items():
            if not path.is_file() or path.read_text(encoding="utf-8") != new:
                outdated = True
                print(path.relative_to(ROOT))
                if not check:
                    path.write_text(new, encoding="utf-8")
    return int(check and outdated)


if __name__ == "__main__":
    sys.exit(main())
