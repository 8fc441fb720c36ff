"""What the stack file says beside the preview: a deleted or rejected file, and files whose preview is missing."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.observed.resources.paths import MISSING, get_value_at, list_differences
from multiarch.review.model import Operation, Preview, StackChange
from multiarch.review.values import format_from_to, limit_lines
from multiarch.rules import Finding, make_finding

_UNKNOWN = (
    "Not known without a preview: what changes beside the stack file (program, defaults of AWS, charts), how many "
    "nodes there are, and what was changed outside of Pulumi. A merge request from a fork has no credentials for one."
)
_DESTROY = "Run `pulumi destroy` before the file is deleted: docs/how-to/destroy.md."


def find_stack_file_changes(change: StackChange) -> Iterator[Finding]:
    """Yield findings about the stack's file."""
    stack, before, after = f"stack {change.preview.stack}", change.before, change.after
    if before is not None and after is None:
        if not _destroys(change.preview):
            text = f"Its file {before.file} is deleted, but its resources are not: nothing manages them from then on."
            yield make_finding("delete-stack-file", stack, text, (_DESTROY,))
        return
    if after is not None and after.plan is None:
        yield make_finding("invalid-stack-file", stack, f"{after.file} is invalid.", (after.problem,))
    if not change.preview.source:
        text = "No preview was given: only the stack files are compared."
        if before is None:
            text = "The stack is new: its first update creates all of it. No preview was given: only its file is read."
        unread = [f"{before.problem} So nothing is compared with it."] if before and before.problem else []
        keys = [f"Changed: {each}." for each in list_changed_keys(change)]
        yield make_finding("no-preview", stack, text, limit_lines((_UNKNOWN, *unread, *keys)))


def list_changed_keys(change: StackChange) -> Iterator[str]:
    """Yield each key whose value differs, those without a rule too: nothing that the file says is passed over."""
    old, new = (each.values if each and each.plan else {} for each in (change.before, change.after))
    for path in list_differences(old, new) if old and new else ():
        was, now = (MISSING if (value := get_value_at(each, path)) is None else value for each in (old, new))
        # This value names a way to get credentials.
        shown = path.removesuffix(".credentials") if path.startswith("iam.serviceAccounts.") else path
        what = "added" if was is MISSING else "removed" if now is MISSING else "changed"
        yield f"{path}: {format_from_to(was, now, shown) or what}"


def _destroys(preview: Preview) -> bool:
    """Return whether it is a preview of `pulumi destroy`, also one that a protected resource stops: it only deletes."""
    done = {step.operation for step in preview.steps} - {Operation.SAME, Operation.DRIFT, Operation.READ}
    return bool(done) and done <= {Operation.DELETE, Operation.FORGET}
