"""Previews that ended with an error: what they say is incomplete, and what to do about the usual errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from multiarch.observed.resources.secrets import mask_secrets
from multiarch.review.model import StackChange
from multiarch.review.values import limit_lines
from multiarch.rules import Finding, make_finding

_LONGEST = 400
_SUMMARY = re.compile(
    r"(preview|update) failed|an unhandled error occurred: program exited with non-zero exit code: \d+"
    r"|\S+ is rejected: see the problems above\."
)
"""Errors that only say that there are others."""
_UNPROTECT = re.compile(r"\s*To unprotect the resource,.*", re.DOTALL)
"""The engine's advice, which names a command for each resource."""
_URN = re.compile(r"[\"']?urn:pulumi:[^\s\"']*?([^\s\"'$:]+:[^\s\"'$:]+:[^\s\"'$:]+)::([^\s\"']+)[\"']?")
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
        "AWS rejected the job's OIDC token. Check the role's trust policy.",
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


def find_failed_preview(change: StackChange) -> Iterator[Finding]:
    """Yield one finding if the preview failed."""
    preview = change.preview
    if preview.succeeded or not preview.source:
        return
    by_hint: dict[str, list[str]] = {}
    for error in preview.errors:
        hint = next((fix for pattern, fix in _KNOWN if re.search(pattern, error, re.IGNORECASE)), "")
        by_hint.setdefault(hint, []).append(_in_one_line(error))
    lines: list[str] = []
    for hint, found in by_hint.items():
        told = [line for line in dict.fromkeys(found) if not _SUMMARY.fullmatch(line)] or ([] if lines else found[:1])
        lines += limit_lines(told)
        if hint:
            lines.append(hint)
    text = "The preview ended with an error: it does not show everything that would change."
    yield make_finding("preview-failed", f"stack {preview.stack}", text, tuple(lines))


def _in_one_line(error: str) -> str:
    """What a person needs of a message: of a traceback the exception and its place, of a URN its last two parts."""
    text = mask_secrets(error)
    if "Traceback (most recent call last)" in text:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        place = next((line for line in reversed(lines) if line.startswith('File "')), "")
        text = f"{lines[-1]} ({place.partition(', in ')[0]})" if place else lines[-1]
    text = " ".join(_URN.sub(r"\1 \2", _UNPROTECT.sub("", text)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
