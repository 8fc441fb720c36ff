"""AdmissionReview of ``admission.k8s.io/v1``: read from the request's bytes, and written as the answer's.

Only the fields that count are decoded. Where a key is there twice, the last one counts, as in the API server.
Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct

from multiarch.errors import MultiarchError
from multiarch.escaping import escape_terminal
from multiarch.webhook.pod import WrittenPod

_API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_SHOWN = 80


class FailureReason(StrEnum):
    """What ``Observer.failed`` is told: a closed list, because it is a value of a metric's label."""

    TOO_LARGE = "too-large"
    TOO_DEEP = "too-deep"
    NOT_JSON = "not-json"
    NOT_A_REVIEW = "not-a-review"
    INTERNAL = "internal"


class ReviewError(MultiarchError):
    """A body that is not an AdmissionReview v1 with a request. The message shows nothing of the pod."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        """``reason`` is for metrics, ``message`` a sentence."""
        super().__init__(message)
        self.reason = reason


class _ReviewKind(Struct, gc=False):
    group: str | None = None
    version: str | None = None
    kind: str | None = None


class _Request(Struct, gc=False, rename="camel"):
    uid: str = ""
    kind: _ReviewKind | None = None
    sub_resource: str | None = None
    namespace: str | None = None
    operation: str | None = None
    dry_run: bool | None = None
    object: WrittenPod | None = None


class _AdmissionReview(Struct, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


class Review(Struct, gc=False):
    """What is reviewed. ``pod`` is None where the request has no object.

    ``other`` says what the request is about if that is not the creation of a pod, as in ``UPDATE of pods/exec``.
    """

    uid: str
    namespace: str
    dry_run: bool
    pod: WrittenPod | None = None
    other: str = ""


_DECODER = msgspec.json.Decoder(_AdmissionReview)
_HEAD = msgspec.json.encode({"apiVersion": _API_VERSION, "kind": _KIND, "response": {}})[:-2] + b'"uid":'


def read_review(body: bytes) -> Review:
    """Read a request.

    Raises ReviewError for a body that is nested deeper than the decoder goes (1,000 levels), not JSON, or not an
    AdmissionReview v1 with a request, its uid, and an object with a pod's types.
    """
    try:
        review = _DECODER.decode(body)
    except RecursionError:
        raise ReviewError(FailureReason.TOO_DEEP, "The request is nested too deeply.") from None
    except msgspec.ValidationError as error:
        raise ReviewError(FailureReason.NOT_A_REVIEW, f"Not an AdmissionReview: {error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReviewError(FailureReason.NOT_JSON, f"Not JSON: {error}.") from None
    request = _request_of(review)
    pod = request.object
    namespace = request.namespace or (pod.namespace if pod is not None else "")
    return Review(request.uid, namespace, bool(request.dry_run), pod, _other(request))


def build_response(patch: bytes = b"", audit: Mapping[str, str] | None = None, warnings: Sequence[str] = ()) -> bytes:
    """Write all of an answer but the uid, for :func:`build_answer`: the pod is allowed.

    ``patch`` is a JSON Patch; ``audit`` becomes ``auditAnnotations``, with the webhook's name in front of the keys.
    """
    fields: dict[str, object] = {"allowed": True}
    if patch:
        fields |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    if audit:
        fields["auditAnnotations"] = audit
    if warnings:
        fields["warnings"] = warnings
    return msgspec.json.encode(fields)[1:] + b"}"


def build_answer(uid: str, written: bytes) -> bytes:
    """Write the answer to the request with ``uid``; ``written`` is from :func:`build_response`."""
    return b"%b%b,%b" % (_HEAD, msgspec.json.encode(uid), written)


def _request_of(review: _AdmissionReview) -> _Request:
    request = review.request
    if review.api_version != _API_VERSION or review.kind != _KIND:
        found = escape_terminal(f"{review.api_version} {review.kind}"[:_SHOWN])
        raise ReviewError(FailureReason.NOT_A_REVIEW, f"The request must be {_API_VERSION} {_KIND}, not {found!r}.")
    if request is None:
        raise ReviewError(FailureReason.NOT_A_REVIEW, "The AdmissionReview has no request.")
    if not request.uid:
        raise ReviewError(FailureReason.NOT_A_REVIEW, "The AdmissionReview's request has no uid.")
    return request


def _other(request: _Request) -> str:
    kind = request.kind
    if kind is None:
        return "a request without a kind"
    is_pod = kind.kind == "Pod" and kind.version == "v1" and not kind.group
    if is_pod and request.operation == "CREATE" and not request.sub_resource:
        return ""
    what = "/".join(part for part in (kind.group, kind.version, kind.kind, request.sub_resource) if part)
    return escape_terminal(f"{request.operation} of {what}")
