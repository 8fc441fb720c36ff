"""Checks of what a stack runs in its cluster from the project's image: the image, the way to the API."""

from __future__ import annotations

import re
from dataclasses import dataclass

from multiarch.nodes.report import ProblemReport
from multiarch.registry.reference import InvalidReferenceError, Reference, parse_reference
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import check_reachable

_ECR = re.compile(r"[0-9]{12}\.dkr[.-]ecr[.-].+")


@dataclass(frozen=True, slots=True)
class OwnPods:
    """One section of the stack file, what messages call it, and what the names of its rules begin with."""

    section: str
    name: str
    rules: str

    def image(self, written: str | None, spec: StackSpec, report: ProblemReport) -> Reference | None:
        """Return the image, None with a problem if it is missing or invalid."""
        path = (self.section, "image")
        if written is None:
            report("image-missing", path, f"{self.name} has no image.")
            return None
        try:
            image = parse_reference(written)
        except InvalidReferenceError as error:
            report("image", path, f"not an image reference: {error.fault}.")
            return None
        if image.digest is None:
            report(f"{self.rules}-image-not-pinned", path, "the image has no digest.")
        if spec.network.nat == "none" and not _ECR.fullmatch(image.registry):
            report(
                "image-no-way-out",
                path,
                f"the image is in {image.registry}, which a VPC without internet access can't reach.",
            )
        return image

    def check_reachable(self, spec: StackSpec, report: ProblemReport) -> None:
        """Warn where the first run can't install it."""
        check_reachable(f"{self.rules}-unreachable", (self.section, "enabled"), f"install {self.name}", spec, report)
