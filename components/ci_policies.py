"""The former name of :mod:`multiarch_eks.ci`."""

from .ci import State

__all__ = ["State"]
