"""What all models of the stack file have in common."""

from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_plain_validator_function

from multiarch.serialization import convert_to_camel_case

_built_alone: ContextVar[type[BaseModel] | None] = ContextVar("_built_alone", default=None)
_whole: set[type[BaseModel]] = set()


class Section(BaseModel):
    """Base of all models: camelCase keys, strict types, unknown keys rejected, frozen.

    A docstring below a field is its description (:func:`multiarch.stack.schema_paths.read_descriptions`). Pydantic
    would read all of them at every start, which takes longer than the checks of a stack. A model is built at first use,
    without the sections below it: each is built when a file has it. Only serializing needs all of them at once.
    Their modules omit ``from __future__ import annotations``: pydantic would compile each annotation at every start.
    """

    model_config = ConfigDict(
        alias_generator=convert_to_camel_case,
        defer_build=True,
        extra="forbid",
        frozen=True,
        strict=True,
        validate_by_alias=True,
    )

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:
        """Build the model alone. Pydantic calls it at first use."""
        token = _built_alone.set(cls)
        try:
            return super().model_rebuild(**options)
        finally:
            _built_alone.reset(token)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how a value of the model is validated: for a section below another model, by the section itself."""
        if _built_alone.get() is None:
            _build_whole(cls)
        elif _built_alone.get() is not cls:
            return _validate_by(lambda: cls)
        return handler(source)

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the JSON Schema, with the sections below."""
        _build_whole(cls)
        return super().model_json_schema(*arguments, **options)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return all values, with those of the sections below."""
        _build_whole(type(self))
        return super().model_dump(**options)

    @property
    def written(self) -> frozenset[str]:
        """The keys that the file sets, in its spelling."""
        return frozenset(self.read_written())

    def read_written(self) -> dict[str, Any]:
        """Return the values that the file sets by their keys, in the fields' order; sections below stay models.

        Unlike ``model_dump`` it needs no serializer, which pydantic would build for the model.
        """
        own = self.model_fields_set
        return {
            field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items() if name in own
        }


def _validate_by(load: Callable[[], type[Section]]) -> CoreSchema:
    """Return that a section validates a value; it is loaded and built when there is one."""
    return no_info_plain_validator_function(lambda value: load().model_validate(value, by_alias=True, by_name=False))


def _build_whole(model: type[Section]) -> None:
    """Build a model with all sections below it, once."""
    if model not in _whole:
        _whole.add(model)
        super(Section, model).model_rebuild(force=True)


class LaterSection:
    """Stands for a section whose module is imported when a file has it. The field's default is None."""

    def __init__(self, module: str, name: str) -> None:
        """Name the module and the class in it."""
        self._module, self._name = module, name

    def load(self) -> type[Section]:
        """Return the section itself."""
        found: type[Section] = getattr(import_module(self._module), self._name)
        return found

    def __get_pydantic_core_schema__(self, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how a value is validated: by the section."""
        if _built_alone.get() is None:
            return handler.generate_schema(self.load())
        return _validate_by(self.load)


def get_section_default(model: type[Section]) -> Any:  # noqa: ANN401  (the default of a field, as of pydantic's Field)
    """Return the default of a section that may be omitted: all of its own defaults."""
    return Field(default_factory=model.model_construct)


def _flag(value: object) -> object:
    """Pulumi hands top-level configuration over as strings; ``"true"`` and ``"false"`` are what it makes of a flag."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def reject_duplicates(values: list[str]) -> list[str]:
    """Return a list whose items differ. Raises ValueError for another one."""
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"{value} is named twice")
    return values


FORMS: dict[str, str] = {}
"""What strings and keys with a pattern take, in words, for messages: of the modules that are loaded."""


def declare_form(pattern: str, words: str) -> str:
    """Note in words what a pattern takes, and return it."""
    FORMS[pattern] = words
    return pattern


def take_form(pattern: str, words: str, *examples: str) -> Any:  # noqa: ANN401  (as of pydantic's Field)
    """Return the field of strings, or keys, of a form: ``words`` say in messages what the pattern takes."""
    return Field(pattern=declare_form(pattern, words), examples=[*examples] or None)


AWS_ID = "([0-9a-f]{8}|[0-9a-f]{17})"
"""What follows the kind of a resource in an ID of EC2."""
NAME_KEY = declare_form("^[A-Za-z0-9_-]+$", "letters, digits, - and _")
POLICY_KEY = declare_form("^[A-Za-z0-9]+$", "letters and digits")
LABEL_PATTERN = declare_form(
    "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", "at most 63 lower-case letters, digits and hyphens, such as team-a"
)
Label = Annotated[str, Field(pattern=LABEL_PATTERN)]
"""A DNS label, as names of namespaces are."""
RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
]
"""What CloudWatch takes, up to ten years."""
TopLevelFlag = Annotated[bool, BeforeValidator(_flag)]
TaintText = Annotated[str, Field(examples=["arch=arm64:NoSchedule"])]
