"""The configuration file of ``multiarch webhook serve``: read, validated and checked.

Problems name file, line and key, as those of a stack file do: the mechanism is the same.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from multiarch.errors import KeyPath, Problem, ProblemsError
from multiarch.files import reject_device
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.schema.webhook_faults import WebhookFault, find_faults
from multiarch.stack import wording, yaml_source
from multiarch.stack.origin import Origin, Place


def load_configuration(path: Path) -> WebhookConfiguration:
    """Read a configuration file. An empty file is all defaults.

    Raises ProblemsError with every problem.
    """
    configuration, origin = _read(path)
    _reject((*find_faults(configuration), *_check_files(configuration)), origin)
    return configuration


def _read(path: Path) -> tuple[WebhookConfiguration, Origin]:
    """Read a YAML file, and say where each value is."""
    if path.is_dir():
        message, hint = "The file can't be read: it is a folder.", "Name the file in it."
        raise ProblemsError([Problem("unreadable-file", message, hint, file=yaml_source.format_path(path))])
    document = yaml_source.read_yaml_file(path)
    places = {key: Place(document.file, line) for key, line in document.lines.items()}
    origin = Origin(document.file, places, document.value if isinstance(document.value, dict) else {})
    problems = [origin.problem(each.rule, each.path, each.sentence, hint=each.hint) for each in document.faults]
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        problems.append(Problem("wrong-type", "The file has no keys at the top.", file=document.file, line=1))
    if problems:
        raise ProblemsError(problems)
    try:
        return WebhookConfiguration.model_validate(value, by_alias=True, by_name=False), origin
    except ValidationError as error:
        found = wording.describe_problems(error.errors(include_url=False), origin, WebhookConfiguration)
        raise ProblemsError(sorted(found, key=lambda each: each.line or 0)) from error


def _reject(found: Iterable[WebhookFault], origin: Origin) -> None:
    """Raise ProblemsError if there are any."""
    if problems := [origin.placed(path, problem) for path, problem in found]:
        raise ProblemsError(sorted(problems, key=lambda each: each.line or 0))


def _check_files(configuration: WebhookConfiguration) -> Iterator[WebhookFault]:
    registries = configuration.registries
    files: list[tuple[KeyPath, str | None]] = [
        (("registries", "dockerConfig"), registries.docker_config),
        *((("registries", "caFiles", index), file) for index, file in enumerate(registries.ca_files)),
    ]
    for path, file in files:
        try:
            if file is not None:
                reject_device(Path(file))
                Path(file).open("rb").close()
                if "caFiles" in path:
                    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
        except ssl.SSLError:
            message, hint = f"{file} has no valid certificate in PEM.", "Write certificates to trust into it."
            yield path, Problem("not-valid", message, hint)
        except (OSError, ValueError) as error:
            message = f"{file} can't be read: {getattr(error, 'strerror', None) or error}."
            yield path, Problem("unreadable-file", message, "Check the path, and that it is mounted in the pod.")
    if (folder := registries.hosts_dir) is not None and not Path(folder).is_dir():
        hint = "Name a folder like containerd's /etc/containerd/certs.d."
        yield ("registries", "hostsDir"), Problem("unreadable-file", f"{folder} is not a folder.", hint)
