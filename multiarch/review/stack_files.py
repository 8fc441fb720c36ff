"""What the stack file says beside the preview: a deleted or rejected file, and files whose preview is missing."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.review.model import Operation, Preview, StackChange
from multiarch.rules import REVIEW_RULES, Finding

DELETED = REVIEW_RULES["delete-stack-file"]
INVALID = REVIEW_RULES["invalid-stack-file"]
NO_PREVIEW = REVIEW_RULES["no-preview"]
_DESTROY = "Run `pulumi destroy` before the file is deleted: docs/how-to/destroy.md."


def find_stack_file_changes(change: StackChange) -> Iterator[Finding]:
    """Yield findings about the stack's file."""
    stack, before, after = f"stack {change.preview.stack}", change.before, change.after
    if before is not None and after is None:
        if not _destroys(change.preview):
            text = f"Its file {before.file} is deleted, but its resources are not: nothing manages them from then on."
            yield Finding(DELETED, stack, text, (_DESTROY,))
        return
    if after is not None and after.plan is None:
        yield Finding(INVALID, stack, f"{after.file} is invalid.", (after.problem,))
    if not change.preview.source:
        text = "No preview was given: only the stack files are compared."
        yield Finding(NO_PREVIEW, stack, text, ("A merge request from a fork has no credentials for a preview.",))


def _destroys(preview: Preview) -> bool:
    """Return whether it is a preview of `pulumi destroy`, also one that a protected resource stops: it only deletes."""
    done = {step.operation for step in preview.steps} - {Operation.SAME, Operation.DRIFT, Operation.READ}
    return bool(done) and done <= {Operation.DELETE, Operation.FORGET}
