"""What writes shipped files: ``python -m tools.generate`` (``make generate``). Tests hold that all are up to date."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
