"""AWS's JSON schemas of add-ons' configuration values, in files beside the stack files.

``addon-schemas/NAME_VERSION.json`` is what DescribeAddonConfiguration returned, for every stack of the folder.
``multiarch stack pin`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from multiarch.errors import KeyPath, MultiarchError
from multiarch.files import read_text

if TYPE_CHECKING:
    from multiarch.schema.addons import AddonsByName

SCHEMA_FOLDER = "addon-schemas"
_LARGEST = 5_000_000
_LONGEST = 200
"""Characters of a message: some repeat the values."""


def get_schema_file(folder: Path, name: str, version: str) -> Path:
    """Return the file of a schema; ``folder`` is that of the stack files."""
    return folder / SCHEMA_FOLDER / f"{name}_{version}.json"


def read_schemas(folder: Path, addons: AddonsByName) -> Mapping[str, Any]:
    """Read the schemas of the written versions, as far as there are any, by add-on.

    Raises MultiarchError for a file that can't be read or is not JSON.
    """
    found: dict[str, Any] = {}
    for name, settings in sorted(addons.extra.items()):
        if settings.version is None:
            continue
        file = get_schema_file(folder, name, settings.version)
        if file.is_file():
            found[name] = _read(file)
    return found


def _read(file: Path) -> Any:  # noqa: ANN401  (JSON)
    try:
        return json.loads(read_text(file, _LARGEST))
    except OSError as error:
        raise MultiarchError(f"{file} can't be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise MultiarchError(f"{file} is not JSON.", hint="Delete it, and run `multiarch stack pin STACK`.") from error


def find_faults(schema: Any, values: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str, str]]:  # noqa: ANN401  (JSON)
    """Yield what a schema rejects in configuration values: its place, a sentence, and a hint or nothing.

    Raises MultiarchError for what is not a JSON schema, and without the package jsonschema.
    """
    library = _load_library()
    kind = library.validators.validator_for(schema, default=library.Draft202012Validator)
    try:
        kind.check_schema(schema)
        errors = list(kind(schema, registry=_load_registry()).iter_errors(values))
    except library.SchemaError as error:
        message = f"AWS's schema of the add-on is not a JSON schema: {str(error).partition(chr(10))[0][:_LONGEST]}."
        raise MultiarchError(
            message, hint=f"Delete its file in {SCHEMA_FOLDER}, and run `multiarch stack pin STACK`."
        ) from error
    for each in sorted(errors, key=lambda each: ([*map(str, each.absolute_path)], each.message)):
        yield from _describe(each)


def _describe(error: Any) -> Iterator[tuple[KeyPath, str, str]]:  # noqa: ANN401  (the library has no types)
    place = tuple(error.absolute_path)
    known = sorted(error.schema.get("properties", {})) if isinstance(error.schema, Mapping) else []
    if error.validator == "additionalProperties" and error.validator_value is False:
        for key in sorted(set(error.instance) - set(known)):
            from multiarch.stack.schema_paths import find_nearest  # noqa: PLC0415 (loads the whole schema)

            near = find_nearest(key, known)
            hint = f"Did you mean {near}?" if near else f"Known here: {', '.join(known) or 'nothing'}."
            yield (*place, key), f"the add-on has no key {key} here.", hint
        return
    message = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}…"
    yield place, f"AWS's schema rejects it: {message}.", ""


def _load_library() -> ModuleType:
    try:
        import jsonschema  # noqa: PLC0415  (only the stacks that have such values load it)
    except ImportError as error:
        message = "Configuration values of add-ons are checked with jsonschema, which is not installed."
        raise MultiarchError(message, hint="python -m pip install 'multiarch-eks[addons]'") from error
    library: ModuleType = jsonschema
    return library


def _load_registry() -> Any:  # noqa: ANN401  (the library's)
    """Return JSON Schema's own documents alone: by default the library would fetch what a schema refers to."""
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415  (as above)

    return REGISTRY
