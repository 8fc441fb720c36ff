"""What the stack file says beside the preview: a deleted or refused file, and files whose preview is missing."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.review.model import Change, Operation, Preview
from multiarch.rules import Finding, Risk, review_rule

DELETED = review_rule(
    "delete-stack-file",
    Risk.HIGH,
    "stack files that are deleted while the stack may still have resources",
    "Was `pulumi destroy` run, with the stack file, before the file is deleted?",
)
INVALID = review_rule(
    "invalid-stack-file",
    Risk.HIGH,
    "stack files that `stack check` refuses",
    "Does `multiarch stack check` accept the file?",
)
NO_PREVIEW = review_rule(
    "no-preview",
    Risk.MEDIUM,
    "changed stack files without a preview: what happens to their resources is not known",
    "Can a preview be run with credentials before the merge?",
)
RULES = (DELETED, INVALID, NO_PREVIEW)
_DESTROY = "Run `pulumi destroy` before the file is deleted: docs/how-to/destroy.md."


def find(change: Change) -> Iterator[Finding]:
    """Findings about the stack's file."""
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
    """Whether it is a preview of `pulumi destroy`, also one that a protected resource stops: it only deletes."""
    done = {step.operation for step in preview.steps} - {Operation.SAME, Operation.DRIFT, Operation.READ}
    return bool(done) and done <= {Operation.DELETE, Operation.FORGET}
