"""The former name of :mod:`multiarch_eks.ci`."""

from .ci import GitHub, GitLab

__all__ = ["GitHub", "GitLab"]
