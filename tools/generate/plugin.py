"""The generated files of the Pulumi plugin.

``components/provider/arguments`` has the components' typed arguments, from the schema of a stack, one file for each
module of ``multiarch/schema``; ``provider/schema.json`` is what the plugin infers from them.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from multiarch.schema import parts
from multiarch.schema.base import Section
from multiarch.schema.parts import KNOWN_LATER
from multiarch.schema.stack import StackSpec
from multiarch.stack.schema_paths import descriptions, fields, models, options
from tools.generate import ROOT

FOLDER = ROOT / "components" / "provider" / "arguments"
ROOTS: Mapping[type[Section], str] = {
    StackSpec: "PlatformArgs",
    parts.SingleNodeGroup: "NodeGroupArgs",
    parts.SingleKarpenter: "KarpenterArgs",
    parts.SingleClusterAutoscaler: "ClusterAutoscalerArgs",
    parts.PatchedWorkloads: "PatchedWorkloadsArgs",
}
SCHEMA = ROOT / "provider" / "schema.json"
_SCHEMA = "from components.provider.host import Host; print(Host().schema)"
_WIDTH = 116
_HEAD = '"""Generated from multiarch/schema/{name}.py by ``make generate``: arguments of components."""\n'


def name_of(model: type[Section]) -> str:
    """The name of a model's arguments: nested ones are settings, so that no name is that of a resource."""
    return ROOTS.get(model, f"{model.__name__}Settings")


def schema() -> str:
    """What the plugin answers when an engine asks for its schema. It has the arguments as their files are now."""
    done = subprocess.run([sys.executable, "-c", _SCHEMA], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.dumps(json.loads(done.stdout), indent=2, sort_keys=True) + "\n"


def schema_files() -> dict[Path, str]:
    """Return the text of the plugin's schema, with the arguments as their files are now."""
    return {SCHEMA: schema()}


def arguments() -> dict[Path, str]:
    """The text of each module of arguments."""
    by_module: dict[str, dict[type[Section], None]] = defaultdict(dict)
    for root in ROOTS:
        for model in reversed(list(models(root))):  # a class is written before those that use it
            by_module[_module(model)][model] = None
    made = {FOLDER / f"{module}.py": _file(module, list(found)) for module, found in by_module.items()}
    return {FOLDER / "__init__.py": _package(), **made}


def _module(model: type[Section]) -> str:
    return model.__module__.rpartition(".")[2]


def _package() -> str:
    by_module: dict[str, list[str]] = defaultdict(list)
    for model, name in ROOTS.items():
        by_module[_module(model)].append(name)
    imports = "".join(_import(module, sorted(names)) for module, names in sorted(by_module.items()))
    listed = "".join(f'    "{name}",\n' for name in sorted(ROOTS.values()))
    meaning = '"""The arguments of each component, as typed dictionaries with the keys of a stack file."""'
    return f"{meaning}\n\n{imports}\n__all__ = [\n{listed}]\n"


def _file(module: str, found: list[type[Section]]) -> str:
    text = "\n\n".join(_class(model) for model in _in_order(found))
    annotated = set(re.findall(r"\w+", "".join(re.findall(r"^    \w+: (.*)$", text, re.MULTILINE))))
    others: dict[str, set[str]] = defaultdict(set)
    for model in found:
        for used in _used(model):
            if _module(used) != module and name_of(used) in annotated:
                others[_module(used)].add(name_of(used))
    typing = ", ".join(name for name in ("Any", "NotRequired", "TypedDict") if name in {"TypedDict", *annotated})
    imports = [f"from typing import {typing}\n"]
    if "pulumi" in annotated:
        imports.append("\nimport pulumi\n")
    if others:
        imports.append("\n")
        imports += [_import(other, sorted(names)) for other, names in sorted(others.items())]
    return f"{_HEAD.format(name=module)}\n{''.join(imports)}\n\n{text}"


def _import(module: str, names: list[str]) -> str:
    line = f"from .{module} import {', '.join(names)}\n"
    if len(line) <= _WIDTH:
        return line
    listed = "".join(f"    {name},\n" for name in names)
    return f"from .{module} import (\n{listed})\n"


def _in_order(found: list[type[Section]]) -> Iterator[type[Section]]:
    done: set[type[Section]] = set()

    def visit(model: type[Section]) -> Iterator[type[Section]]:
        if model not in done:
            done.add(model)
            for used in _used(model):
                if used in found:
                    yield from visit(used)
            yield model

    for model in sorted(found, key=name_of):
        yield from visit(model)


def _used(model: type[Section]) -> list[type[Section]]:
    return [each for each in models(model) if each is not model]


def _class(model: type[Section]) -> str:
    meanings, left_out = descriptions(model), getattr(model, "left_out", {})
    lines = [f"class {name_of(model)}(TypedDict):\n", _docstring(str(model.__doc__))]
    for key, field in fields(model).items():
        if key in left_out:
            continue
        annotation = _annotation(field)
        wrapped = annotation if field.is_required() else f"NotRequired[{annotation}]"
        lines += [f"\n    {key}: {wrapped}\n", _docstring(_meaning(meanings[key], field))]
    return "".join(lines)


def _docstring(text: str) -> str:
    paragraphs = [" ".join(each.split()) for each in inspect.cleandoc(text.replace("``", "`")).split("\n\n")]
    if len(paragraphs) == 1 and len(paragraphs[0]) + 6 <= _WIDTH:
        return f'    """{paragraphs[0]}"""\n'
    wrapped = "\n\n".join(textwrap.fill(each, _WIDTH - 4) for each in paragraphs)
    return textwrap.indent(f'"""{wrapped}\n"""', "    ") + "\n"


def _meaning(text: str, field: FieldInfo) -> str:
    """What a field is, the values that it can have, and its default."""
    sentences = [" ".join(text.split())]
    literals = [option for option in options(field.annotation) if get_origin(option) is Literal]
    allowed = [value for option in literals for value in get_args(option)]
    if allowed:
        sentences.append(f"One of {', '.join(map(str, allowed))}.")
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if "Default:" not in text and isinstance(default, str | int) and default != "":
        sentences.append(f"Default: {str(default).lower() if isinstance(default, bool) else default}.")
    return " ".join(sentences)


def _annotation(field: FieldInfo) -> str:
    if KNOWN_LATER in field.metadata:
        return f"pulumi.Input[{_plain(field.metadata[-1], later=True)}]"
    return _plain(field.annotation, later=False)


def _plain(annotation: Any, *, later: bool) -> str:  # noqa: ANN401  (an annotation)
    found = [option for option in options(annotation) if option is not type(None)]
    names = {_single(option, later=later) for option in found}
    # Pulumi's analyzer has no unions.
    return names.pop() if len(names) == 1 else "Any"


def _single(option: Any, *, later: bool) -> str:  # noqa: ANN401  (an annotation)
    origin, arguments = get_origin(option), get_args(option)
    if origin is Annotated:
        return _plain(arguments[0], later=later)
    if origin is Literal:
        return type(arguments[0]).__name__
    if origin is list:
        inner = _plain(arguments[0], later=later)
        return f"list[pulumi.Input[{inner}]]" if later else f"list[{inner}]"
    if origin is dict:
        return f"dict[str, {_plain(arguments[1], later=later)}]"
    if option is Any:
        return "Any"
    return name_of(option) if issubclass(option, Section) else option.__name__
