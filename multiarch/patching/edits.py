"""Changing every pod template in a manifest's text: YAML gets lines and keeps all its bytes, JSON stays JSON."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from multiarch.errors import KeyPath, MultiarchError
from multiarch.manifests.templates import PodSpecPlace, Selection, UnknownContainers, find_templates
from multiarch.patching.transform import SchedulingChange, Transformed, explain_feature_flags, transform_pod_spec
from multiarch.yaml_text.additions import Addition, add_values
from multiarch.yaml_text.documents import DocumentText, split_documents
from multiarch.yaml_text.edit import EditError, insert_additions
from multiarch.yaml_text.events import YamlError
from multiarch.yaml_text.json_text import format_json_like, read_json_documents
from multiarch.yaml_text.nodes import YamlNode, find_line
from multiarch.yaml_text.reader import read_document, read_nodes

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class TemplateOutcome:
    """The result for one template; ``line`` is where its object begins in the text, from 1 (always 1 in JSON)."""

    template: PodSpecPlace
    line: int
    transformed: Transformed


@dataclass(frozen=True, slots=True)
class TemplateFault:
    """Why a document was not changed; ``line`` is the fault's, or where the document begins."""

    line: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Edited:
    """A manifest's text after the change.

    With ``faults`` it must not be used: the documents that they are about are unchanged. ``objects`` counts the
    documents that are Kubernetes objects; ``foreign`` are the lines of the others, which are left alone, as are the
    ``unknown`` containers.
    """

    text: str
    outcomes: tuple[TemplateOutcome, ...] = ()
    faults: tuple[TemplateFault, ...] = ()
    unknown: tuple[UnknownContainers, ...] = ()
    foreign: tuple[int, ...] = ()
    objects: int = 0

    @property
    def changed(self) -> bool:
        """Whether any template was changed."""
        return any(outcome.transformed.changed for outcome in self.outcomes)


def edit_templates(
    text: str, change: SchedulingChange, selection: Selection | None = None, *, judge_only: bool = False
) -> Edited:
    """Change the selected pod templates in YAML or JSON; see :func:`templates.templates_in` for what is one.

    With ``judge_only`` the text is not changed, and what only prevents writing is not a fault. An invalid document is
    a fault, not an exception, and the others are judged all the same.
    """
    mark = _BOM if text.startswith(_BOM) else ""
    worker = _Worker(change, selection or Selection(), judge_only=judge_only)
    body = text.removeprefix(_BOM)
    new = worker.json(body) if body.lstrip().startswith(("{", "[")) else None
    if new is None:
        new = "".join(worker.document(part) for part in split_documents(body))
    return Edited(
        text=mark + new,
        outcomes=tuple(worker.outcomes),
        faults=tuple(worker.faults),
        unknown=tuple(worker.unknown),
        foreign=tuple(worker.foreign),
        objects=worker.objects,
    )


def _is_object(value: object) -> bool:
    """Return whether a loaded document is a Kubernetes object, or a list of such."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, Mapping) and _is_object(each) for each in value)
    return isinstance(value, Mapping) and isinstance(value.get("kind"), str) and "apiVersion" in value


class _Worker:
    """Goes through the documents of a string and collects the results."""

    def __init__(self, change: SchedulingChange, selection: Selection, *, judge_only: bool) -> None:
        self._change = change
        self._selection = selection
        self._judge_only = judge_only
        self.outcomes: list[TemplateOutcome] = []
        self.faults: list[TemplateFault] = []
        self.unknown: list[UnknownContainers] = []
        self.foreign: list[int] = []
        self.objects = 0

    def json(self, text: str) -> str | None:
        """Change one JSON document; ``None`` for other text, such as flow-style YAML, which starts alike."""
        try:
            found = list(read_json_documents(text))
        except (ValueError, RecursionError):
            return None
        if len(found) != 1:
            return None
        before = len(self.faults)
        additions = list(self._additions(found[0], 1, lambda _: 1))
        if self._judge_only or not additions or len(self.faults) > before:
            return text
        try:
            return format_json_like(text, _added(found[0], additions))
        except RecursionError:
            self.faults.append(TemplateFault(1, "document 1: nested too deeply."))
            return text

    def document(self, part: DocumentText) -> str:
        """Change one YAML document."""
        before = len(self.faults)

        @functools.cache
        def root() -> YamlNode:
            found = read_nodes(part.text)
            if found is None:
                raise _WrongEditError
            return found

        try:
            document = read_document(part.text)
            if document is None or document.value is None:
                return part.text
            first = document.line

            def line(path: KeyPath) -> int:
                return part.line - 1 + (find_line(root(), path) if path else first)

            additions = list(self._additions(document.value, part.number, line))
            if self._judge_only or not additions or len(self.faults) > before:
                return part.text
            new = insert_additions(part.text, root(), additions)
            _check(new, _added(document.value, additions))
        except YamlError as error:
            # The end of the text is its last line.
            last = part.text.rstrip("\r\n").count("\n") + 1
            hint = _hint_for(part.text) or error.fault.hint
            self.faults.append(
                TemplateFault(part.line - 1 + min(error.fault.line or 1, last), error.fault.sentence, hint)
            )
        except EditError as error:
            # All changes of a document or none.
            message = f"document {part.number}: can't be edited: {error.message}."
            self.faults.append(TemplateFault(part.line + error.line - 1, message, error.hint))
        except _WrongEditError:
            message = f"document {part.number}: uses YAML that this command can't edit."
            self.faults.append(TemplateFault(part.line, message, "Edit it by hand."))
        else:
            return new
        return part.text

    def _additions(self, loaded: object, number: int, line_of: Callable[[KeyPath], int]) -> Iterator[Addition]:
        """Judge a document's templates, and yield what is to be added, with paths from the document's top."""
        if not _is_object(loaded):
            self.foreign.append(line_of(()))
            return
        self.objects += 1
        found = find_templates(loaded, number)
        where: KeyPath = ()
        while True:
            try:
                each = next(found, None)
                if each is None:
                    return
                where = () if isinstance(each, UnknownContainers) else each.where
                if isinstance(each, UnknownContainers):
                    self.unknown.append(each)
                elif self._selection.selects(each):
                    transformed = transform_pod_spec(each.spec, self._change)
                    keys = [str(addition.path[0]) for addition in transformed.additions]
                    flags = explain_feature_flags(each.written.get("apiVersion"), keys)
                    transformed = replace(transformed, notes=(*transformed.notes, *flags))
                    self.outcomes.append(TemplateOutcome(each, line_of(each.where), transformed))
                    yield from (addition.below((*each.where, *each.path)) for addition in transformed.additions)
            except MultiarchError as error:
                self.faults.append(TemplateFault(line_of(where), error.message, error.hint))


class _WrongEditError(Exception):
    """An edited text does not have the intended value: no change is better than a wrong one."""


def _check(text: str, intended: object) -> None:
    try:
        found = read_document(text)
    except YamlError as error:
        raise _WrongEditError from error
    if found is None or found.value != intended:
        raise _WrongEditError


def _added(loaded: object, additions: list[Addition]) -> object:
    """Return a document, which may be a list of objects, with additions made."""
    return add_values({"": loaded}, (addition.below(("",)) for addition in additions))[""]


def _hint_for(text: str) -> str:
    return "Render the chart first: `helm template … | multiarch workload patch --manifests -`." if "{{" in text else ""
