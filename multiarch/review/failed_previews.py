"""Previews that ended with an error: what they say is incomplete, and what to do about the usual errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from multiarch.review.model import Change, Finding, ReviewRule, Risk
from multiarch.review.values import masked

__all__ = ["RULES", "find"]

FAILED = ReviewRule(
    "preview-failed",
    Risk.HIGH,
    "previews that ended with an error, and so do not show everything",
    "Does the preview run after the error is mended?",
)
RULES = (FAILED,)
_MOST = 5
_LONGEST = 400
_KNOWN = (
    (
        r"no valid credential|unable to locate credentials|get credentials|no EC2 IMDS role found",
        "There are no AWS credentials: a merge request from a fork gets none. Run the preview from a branch here.",
    ),
    (r"ExpiredToken|token.*expired", "The AWS credentials have expired. Run the job again."),
    (
        r"AccessDenied|UnauthorizedOperation|is not authorized to perform|\bForbidden\b",
        "The role of the preview may not read this. Add the named action to the read role.",
    ),
    (
        r"AssumeRoleWithWebIdentity|InvalidIdentityToken",
        "AWS refused the job's OIDC token. Check the role's trust policy.",
    ),
    (
        r"currently marked for protection|is protected",
        "The change deletes a protected resource. Unprotect it in an update of its own if that is wanted.",
    ),
    (r"stack is currently locked|409 Conflict|another update", "Another update runs. Run the job again after it."),
    (r"incorrect passphrase|passphrase must be set", "The passphrase of the stack's secrets is missing or wrong."),
    (r"no such host|connection refused|i/o timeout|dial tcp", "A service can't be reached from the job."),
    (r"no stack named|stack .* not found", "The stack does not exist in the backend. `pulumi stack init` creates it."),
)


def find(change: Change) -> Iterator[Finding]:
    """One finding if the preview failed."""
    preview = change.preview
    if preview.succeeded:
        return
    # The engine ends with a summary of the other errors.
    errors = sorted(preview.errors, key=lambda text: text.startswith(("preview failed", "update failed")))
    lines: list[str] = []
    for error in errors[:_MOST]:
        text = " ".join(masked(error).split())
        lines.append(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
        lines += [way_out for pattern, way_out in _KNOWN if re.search(pattern, error, re.IGNORECASE)][:1]
    if len(errors) > _MOST:
        lines.append(f"{len(errors) - _MOST} more errors.")
    text = "The preview ended with an error: it does not show everything that would change."
    yield Finding(FAILED, f"stack {preview.stack}", text, tuple(dict.fromkeys(lines)))
