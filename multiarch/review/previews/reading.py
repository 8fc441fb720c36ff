"""Reading what the Pulumi engine writes of a preview: ``pulumi preview --json``, its JSON stream, the event log.

A file may hold several previews, one after the other.

Sources: github.com/pulumi/pulumi, sdk/go/common/apitype/events.go and sdk/go/auto/optpreview (PreviewDigest).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from multiarch.errors import MultiarchError
from multiarch.observed.resources.paths import SECRET
from multiarch.review.model import Preview
from multiarch.review.previews.steps import Record, Steps, read_states

_HOW = "Give what `pulumi preview --json` writes to stdout, or the file of `pulumi preview --event-log`."
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_NEXT = re.compile(r"[ \t\r\n]*(?=[^ \t\r\n])")
_SHOWN = 60
_OF_A_DIGEST = frozenset({"steps", "config", "diagnostics", "changeSummary", "duration", "maybeCorrupt"})
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_IS_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  (the engine's mark of a secret)
"""An object with this signature holds a secret, in plain text after ``--show-secrets``."""


def read_previews(data: bytes, source: str) -> list[Preview]:
    """Return all previews in a file. ``source`` names it in messages.

    Raises MultiarchError, which names the source, for what is not a preview, is cut off, or says of no stack.
    """
    try:
        found = _previews(_decode(data), source)
        del data  # a preview may have hundreds of megabytes: the text alone is kept
        return list(found)
    except RecursionError:
        raise MultiarchError(f"{source}: The JSON is nested too deeply.", hint=_HOW) from None
    except MultiarchError as error:
        raise MultiarchError(f"{source}: {error.message}", hint=error.hint or _HOW) from error


def _decode(data: bytes) -> str:
    if data.startswith(_UTF_16):
        raise MultiarchError("The file is UTF-16.", hint="PowerShell's `>` writes it; use `| Out-File -Encoding utf8`.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MultiarchError("The file is not UTF-8.") from None
    if not text or text.isspace():
        raise MultiarchError("The file is empty.", hint="Did `pulumi preview` fail? Its messages are on stderr.")
    return text


def _previews(text: str, source: str) -> Iterator[Preview]:
    log: _Draft | None = None
    for top in _read_objects(text):
        if "sequence" in top:
            log = log or _Draft(source)
            if log.add_event(top):
                yield log.preview()
                log = None
        elif _OF_A_DIGEST.isdisjoint(top):
            keys = ", ".join(sorted(top)) or "none"
            raise MultiarchError(f"This is not a preview: it is JSON with the keys {keys}.")
        else:
            yield _Draft(source).read_digest(top)
    if log is not None:
        if not log.ended:
            raise MultiarchError(
                "The event log ends before the engine's summary.",
                hint="Was `pulumi preview` interrupted, or the disk full? Run it again.",
            )
        yield log.preview()


def _read_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that follow one another. Raises MultiarchError for anything else."""
    decoder = json.JSONDecoder(object_hook=_hide_secrets, parse_constant=_reject_constant)
    at = 0
    while found := _NEXT.match(text, at):
        if text[found.end()] != "{":
            line = text[found.end() : found.end() + _SHOWN].partition("\n")[0].rstrip()
            hint = f"{_HOW} Keep stderr out of it (no `2>&1`)."
            raise MultiarchError(f"This is not a preview: {line!r}.", hint=hint)
        try:
            value, at = decoder.raw_decode(text, found.end())
        except ValueError as error:
            raise MultiarchError(f"Invalid JSON, or it is cut off: {error}.") from None
        if not isinstance(value, dict):
            raise MultiarchError("This is a secret, not a preview.")
        yield value


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _hide_secrets(found: dict[str, Any]) -> Any:  # noqa: ANN401  (any JSON value)
    """Return the object without secrets."""
    if found.get(_SIGNATURE) == _IS_SECRET:
        return SECRET
    for key, value in found.items():
        # A string in which the program put a secret, such as the JSON of a policy.
        if (isinstance(value, str) and _SIGNATURE in value) or (isinstance(value, list) and _quotes_secret(value)):
            found[key] = SECRET
    return found


def _quotes_secret(values: list[Any]) -> bool:
    return any(isinstance(each, str) and _SIGNATURE in each for each in values)


class _Names(NamedTuple):
    """What a format calls the parts of a step."""

    old: str
    new: str
    kind: str
    diffs: str
    keys: str


_IN_DIGEST = _Names("oldState", "newState", "kind", "diffReasons", "replaceReasons")
_IN_LOG = _Names("old", "new", "diffKind", "diffs", "keys")


@dataclass(slots=True)
class _Draft:
    """A preview while it is read. ``ended``: the event log has the engine's summary."""

    source: str
    steps: Steps = field(default_factory=Steps)
    config: Mapping[str, Any] = field(default_factory=dict)
    errors: dict[str, None] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    stack: str = ""
    project: str = ""
    failed: bool = False
    ended: bool = False

    def read_digest(self, top: Mapping[str, Any]) -> Preview:
        """Return the preview that `pulumi preview --json` wrote."""
        steps = top.get("steps") or ()
        for number, step in enumerate(steps if isinstance(steps, list) else (), 1):
            where = f"Step {number}"
            if not isinstance(step, Mapping) or not all(isinstance(step.get(key), str) for key in ("op", "urn")):
                raise MultiarchError(f"{where} has no op and urn.")
            self._add(step, _IN_DIGEST, where)
        self.config = _mapping(top, "config", "The preview") or {}
        diagnostics = top.get("diagnostics") or ()
        for each in diagnostics if isinstance(diagnostics, list) else ():
            self.diagnose(each)
        return self.preview()

    def add_event(self, event: Mapping[str, Any]) -> bool:
        """Take an event of the engine's log; return whether it is the last one of its preview."""
        if (step := event.get("resourcePreEvent")) is not None:
            self._add_step(step)
        elif (step := event.get("resOutputsEvent")) is not None:
            self._add_step(step, of_outputs=True)
        elif (diagnostic := event.get("diagnosticEvent")) is not None:
            self.diagnose(diagnostic)
        elif (prelude := event.get("preludeEvent")) is not None:
            self.config = (
                _mapping(prelude, "config", "The preludeEvent") if isinstance(prelude, Mapping) else None
            ) or {}
        elif (policy := event.get("policyEvent")) is not None:
            self._add_violation(policy)
        elif (failed := event.get("resOpFailedEvent")) is not None:
            self.failed = True
            self._add_step(failed)
        elif (summary := event.get("summaryEvent")) is not None:
            self.ended = True
            self.failed |= isinstance(summary, Mapping) and summary.get("result", "succeeded") != "succeeded"
        elif "cancelEvent" in event:
            self.failed |= not self.ended
            return True
        return False

    def _add_step(self, event: object, *, of_outputs: bool = False) -> None:
        metadata = event.get("metadata") if isinstance(event, Mapping) else None
        if not isinstance(metadata, Mapping) or not isinstance(metadata.get("op"), str):
            raise MultiarchError("A step's event has no metadata.")
        # Outputs of a preview are those of the step itself, but for a refresh: it knows the new state only afterwards.
        if of_outputs == (metadata["op"] == "refresh"):
            self._add(metadata, _IN_LOG, str(metadata.get("urn")))

    def _add_violation(self, event: object) -> None:
        if isinstance(event, Mapping):
            name = str(event.get("resourceUrn") or "").rpartition("::")[2]
            message = str(event.get("message", "")).strip()
            text = f"policy {event.get('policyName')} of {event.get('policyPackName')}: {name}: {message}"
            kept = self.errors if event.get("enforcementLevel") == "mandatory" else self.warnings
            kept[text] = None

    def _add(self, step: Mapping[str, Any], names: _Names, where: str) -> None:
        """Take a step, and the names of stack and project from its URN: ``urn:pulumi:STACK::PROJECT::TYPE::NAME``."""
        urn = str(step.get("urn"))
        states = [_mapping(step, name, where) for name in (names.old, names.new)]
        detailed = _mapping(step, "detailedDiff", where) or {}
        if not self.stack:
            head, _, rest = urn.removeprefix("urn:pulumi:").partition("::")
            if not rest or not urn.startswith("urn:pulumi:"):
                raise MultiarchError(f"{urn!r} is not a URN of Pulumi.")
            self.stack, self.project = head, rest.partition("::")[0]
        self.steps.add(
            Record(
                step["op"],
                urn,
                *read_states(*states),
                # ``add``, ``delete``, ``update``, and each with ``-replace``.
                {path: str(each.get(names.kind)) for path, each in detailed.items() if isinstance(each, Mapping)},
                _texts(step.get(names.diffs)),
                _texts(step.get(names.keys)),
            )
        )

    def diagnose(self, written: object) -> None:
        """Take a message of the engine, a provider or the program."""
        if not isinstance(written, Mapping) or not isinstance(message := written.get("message"), str):
            raise MultiarchError("A diagnostic has no message.")
        severity = str(written.get("severity"))
        text = message.removeprefix(f"{severity}: ").strip()
        kept = {"error": self.errors, "warning": self.warnings}.get(severity)
        if kept is not None and text:
            kept[text] = None

    def preview(self) -> Preview:
        """Return the preview. Raises MultiarchError if nothing says which stack it is of."""
        steps = tuple(self.steps)
        if not self.stack:
            self._name_by_configuration()
        return Preview(
            self.stack,
            self.project,
            self.source,
            steps,
            tuple(self.errors),
            tuple(self.warnings),
            succeeded=not self.failed and not self.errors,
        )

    def _name_by_configuration(self) -> None:
        """A preview that failed before its first step: ``PROJECT:team`` and ``PROJECT:environment`` name the stack."""
        for key, team in self.config.items():
            project, _, name = key.rpartition(":")
            if name == "team" and (environment := self.config.get(f"{project}:environment")):
                self.stack, self.project = f"{team}-{environment}", project
                return
        if self.errors:
            raise MultiarchError(
                f"The preview failed before its first step: {next(iter(self.errors))}",
                hint="Mend that, and preview again.",
            )
        raise MultiarchError("The preview has no steps, and does not say of which stack it is.")


def _mapping(written: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any] | None:
    value = written.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise MultiarchError(f"{where}: {key} must be a JSON object.")
    return value


def _texts(written: object) -> tuple[str, ...]:
    return tuple(each for each in written if isinstance(each, str)) if isinstance(written, list) else ()
