"""The registry and the repositories of the images' tests."""

from __future__ import annotations

from tests.images.conftest import images_registry, repository

__all__ = ["images_registry", "repository"]
