"""The configuration file of ``multiarch webhook serve``: read, validated and checked.

Problems name file, line and key, as those of a stack file do: the mechanism is the same.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from multiarch.errors import KeyPath, MultiarchError, Problem, ProblemsError, StackError
from multiarch.facts.taints import Taint, parse_taint
from multiarch.files import reject_device
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.schema.webhook_faults import WebhookFault, find_faults
from multiarch.stack import wording, yaml_source
from multiarch.stack.model import Plan
from multiarch.stack.origin import Origin, Place
from multiarch.stack.webhook import group_taints


class ConfigurationError(ProblemsError):
    """A configuration that can't be used."""


def load_configuration(path: Path) -> WebhookConfiguration:
    """Read a configuration file. An empty file is all defaults.

    Raises ConfigurationError with every problem.
    """
    configuration, origin = _read(path)
    _reject((*find_faults(configuration), *_check_files(configuration)), origin)
    return configuration


def _read(path: Path) -> tuple[WebhookConfiguration, Origin]:
    """Read a YAML file, and say where each value is."""
    if path.is_dir():
        message, hint = "The file can't be read: it is a folder.", "Name the file in it."
        raise ConfigurationError([Problem("unreadable-file", message, hint, file=yaml_source.format_path(path))])
    try:
        document = yaml_source.read_yaml_file(path)
    except StackError as error:
        raise ConfigurationError(error.problems) from error
    places = {key: Place(document.file, line) for key, line in document.lines.items()}
    origin = Origin(document.file, places, document.value if isinstance(document.value, dict) else {})
    problems = [origin.problem(each.rule, each.path, each.sentence, hint=each.hint) for each in document.faults]
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        problems.append(Problem("wrong-type", "The file has no keys at the top.", file=document.file, line=1))
    if problems:
        raise ConfigurationError(problems)
    try:
        return WebhookConfiguration.model_validate(value, by_alias=True, by_name=False), origin
    except ValidationError as error:
        found = wording.describe_problems(error.errors(include_url=False), origin, WebhookConfiguration)
        raise ConfigurationError(sorted(found, key=lambda each: each.line or 0)) from error


def _reject(found: Iterable[WebhookFault], origin: Origin) -> None:
    """Raise ConfigurationError if there are any."""
    if problems := [origin.placed(path, problem) for path, problem in found]:
        raise ConfigurationError(sorted(problems, key=lambda each: each.line or 0))


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


def complete_from_stack(plan: Plan, configuration: WebhookConfiguration) -> WebhookConfiguration:
    """Take the taint and the architectures from a stack where the configuration does not have them.

    Raises MultiarchError if both have them, and the configuration's don't cover the stack's.
    """
    architectures = group_taints(plan.node_groups, plan.autoscaling)
    changes: dict[str, object] = {}
    if "taints" not in configuration.written:
        if plan.arm64_taint is None:
            message = f"The arm64 nodes of the stack {plan.stack} have no taint: there is nothing to tolerate."
            raise MultiarchError(message, hint="Set arm64Taint in the stack, or taints in the configuration.")
        changes["taints"] = [str(plan.arm64_taint)]
    elif plan.arm64_taint is not None and plan.arm64_taint not in _taints(configuration):
        raise MultiarchError(
            f"taints of the configuration are {', '.join(configuration.taints)}, and arm64 nodes of the stack "
            f"{plan.stack} have {plan.arm64_taint}.",
            hint="Omit taints to take the stack's.",
        )
    if "architectures" not in configuration.written:
        changes["architectures"] = sorted(map(str, architectures)) or configuration.architectures
    elif missing := sorted(set(architectures) - set(configuration.architectures)):
        raise MultiarchError(
            f"architectures of the configuration are {', '.join(configuration.architectures)}, and the stack "
            f"{plan.stack} also has {' and '.join(missing)} nodes.",
            hint="Omit architectures to take the stack's.",
        )
    return configuration.model_copy(update=changes)


def _taints(configuration: WebhookConfiguration) -> set[Taint]:
    return {parse_taint(text) for text in configuration.taints}
