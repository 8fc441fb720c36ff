"""Where to post: the merge request or the project of the job that this process runs in, by its variables."""

from __future__ import annotations

from collections.abc import Mapping

from multiarch.comments import github, gitlab
from multiarch.comments.model import Place, Service
from multiarch.errors import MultiarchError


def service(environment: Mapping[str, str]) -> Service:
    """The service whose CI runs this process. Raises MultiarchError outside of both."""
    for name, found in (("GITLAB_CI", Service.GITLAB), ("GITHUB_ACTIONS", Service.GITHUB)):
        if environment.get(name, "").lower() == "true":
            return found
    raise MultiarchError(
        "Neither GITLAB_CI nor GITHUB_ACTIONS is set: this is not a CI job.", hint="Name the service: gitlab or github."
    )


def comments(chosen: Service, environment: Mapping[str, str], seconds: float) -> Place:
    """The comments of this job's merge request or pull request. Raises MultiarchError for what the job lacks."""
    if chosen is Service.GITLAB:
        return gitlab.comments(environment, seconds)
    return github.comments(environment, seconds)


def issues(chosen: Service, environment: Mapping[str, str], title: str, seconds: float) -> Place:
    """The open issues of this job's project. Raises MultiarchError for what the job lacks."""
    if chosen is Service.GITLAB:
        return gitlab.issues(environment, title, seconds)
    return github.issues(environment, title, seconds)
