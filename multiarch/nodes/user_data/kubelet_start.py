"""Whether a script would start the kubelet itself, which only the bootstrap may do.

A kubelet that is started twice registers the node without its taints, or with another configuration.
Source: EKS user guide, "Customize managed nodes with launch templates", "Amazon EC2 user data".
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from multiarch.nodes.user_data.shell import Command, commands

_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_KEYWORDS = frozenset({"!", "{", "coproc", "do", "elif", "else", "if", "then", "until", "while"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=.*", re.DOTALL)
# Commands that run another one: their options that take a value, and how many arguments stand before the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "builtin": (frozenset(), 0),
    "chroot": (frozenset(), 1),
    "command": (frozenset(), 0),
    "env": (frozenset({"-u", "-C", "--unset", "--chdir"}), 0),
    "exec": (frozenset({"-a"}), 0),
    "flock": (frozenset({"-w", "-E", "--timeout"}), 1),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "nice": (frozenset({"-n"}), 0),
    "nohup": (frozenset(), 0),
    "runuser": (frozenset({"-u", "-g"}), 0),
    "setsid": (frozenset(), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-r", "-t"}), 0),
    "systemd-run": (frozenset({"-p", "-u", "-E", "-M", "--property", "--unit", "--setenv"}), 0),
    "time": (frozenset({"-f", "-o"}), 0),
    "timeout": (frozenset({"-k", "-s", "--kill-after", "--signal"}), 1),
    "xargs": (frozenset({"-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"}), 0),
}
_STARTS = frozenset({"reload-or-restart", "restart", "start"})
_SYSTEMCTL_VALUES = frozenset({"-H", "-M", "-n", "-o", "-p", "-s", "-t"})
_UNKNOWN = "$"
_QUESTIONS = frozenset({"--help", "--version", "-h"})
_MAX_DEPTH = 10
# For scripts that are not the shell's: any mention beside a verb.
_IN_OTHER_LANGUAGES = re.compile(
    r"/etc/eks/bootstrap\.sh|nodeadm-run|nodeadm\W+init"
    r"|systemctl\W+((re)?start|(re)?enable\W+now)\W.*(kubelet|nodeadm)"
)


def starts_kubelet(script: str) -> str | None:
    """Say which command of ``script`` would start the kubelet, as ``line 3: systemctl start kubelet``, or None.

    Found are calls of ``/etc/eks/bootstrap.sh``, ``nodeadm init``, the kubelet itself, and ``systemctl`` or ``service``
    starting ``kubelet`` or a ``nodeadm`` unit; also behind ``sudo`` and the like, in substitutions, ``bash -c`` and
    here-documents for a shell. Comments, ``echo`` and what is only written into a file are not. Where a variable
    stands for the unit, a script that names the kubelet anywhere counts as starting it. In a script for another
    interpreter every mention of such a call counts.
    """
    first, _, _ = script.partition("\n")
    if first.startswith("#!") and not _SHELLS & set(re.split(r"[\s/]+", first[2:])):
        return _mentioned_in_another_language(script)
    found = list(_all(script))
    mentioned = frozenset(word for command in found for word in command.words)
    for command in found:
        program = _program(command.words)
        if program and _starts(program, mentioned):
            return f"line {command.line}: {' '.join(' '.join(program).split())}"
    return None


def _mentioned_in_another_language(script: str) -> str | None:
    for number, line in enumerate(script.splitlines(), 1):
        if _IN_OTHER_LANGUAGES.search(line.partition("#")[0]):
            return f"line {number}: {line.strip()}"
    return None


def _all(script: str, line: int = 1, depth: int = 0) -> Iterator[Command]:
    """Yield every command, also of scripts that a command hands to a shell."""
    for command in commands(script, line=line):
        yield command
        if depth < _MAX_DEPTH:
            for inner in _inner_scripts(command):
                for found in _all(inner, depth=depth + 1):
                    # Lines are hard to count through quotes: the outer command's leads to the inner one.
                    found.line = command.line
                    yield found


def _inner_scripts(command: Command) -> Iterator[str]:
    program = _program(command.words)
    name = program[0].rpartition("/")[2] if program else ""
    arguments = program[1:]
    if name == "eval":
        yield " ".join(arguments)
    elif name in _SHELLS or name in {"runuser", "su"} or (name == "flock" and "-c" in arguments):
        for option, value in itertools.pairwise(arguments):
            if re.fullmatch(r"-[a-z]*c|--command", option):
                yield value
                return
        if name in _SHELLS and not [argument for argument in arguments if argument[:1] not in "-+"]:
            yield command.stdin
            if command.piped is not None and command.piped.words[:1] in (["echo"], ["printf"], ["cat"]):
                yield " ".join(command.piped.words[1:]) + "\n" + command.piped.stdin


def _program(words: Sequence[str]) -> list[str]:
    """Strip keywords, assignments and wrapping commands from the front: what is left begins with the program."""
    rest = list(words)
    while rest:
        name = rest[0].rpartition("/")[2]
        if rest[0] in _KEYWORDS or _ASSIGNMENT.fullmatch(rest[0]):
            rest = rest[1:]
        elif name in _WRAPPERS:
            if name == "command" and {"-v", "-V"} & set(rest[1:2]):
                return []  # asks where a program is and runs nothing
            if name in {"flock", "runuser"} and "-c" in rest:
                return rest
            rest = _behind(rest[1:], *_WRAPPERS[name])
            if name == "xargs":
                rest.append(_UNKNOWN)
        else:
            break
    return rest


def _behind(words: list[str], with_value: frozenset[str], arguments: int) -> list[str]:
    rest = words
    while rest and rest[0].startswith("-") and rest[0] != "--":
        rest = rest[2 if rest[0] in with_value else 1 :]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    while arguments and rest:
        arguments -= 1
        rest = rest[1:]
    return rest


def _starts(program: Sequence[str], mentioned: AbstractSet[str]) -> bool:
    """Whether one program with its arguments starts the kubelet. ``mentioned`` are the words of the whole script."""
    path, arguments = program[0], list(program[1:])
    name = path.rpartition("/")[2]
    if name in _SHELLS or name in {".", "source"}:
        path = next((argument for argument in arguments if not argument.startswith("-")), "")
    if path.endswith("/eks/bootstrap.sh"):
        return True
    if path in {"bootstrap.sh", "./bootstrap.sh"}:
        return bool({"/etc/eks", "/etc/eks/"} & mentioned)
    named = any("kubelet" in word or "nodeadm" in word for word in mentioned)
    match name:
        case "kubelet":
            started = not arguments or not {argument.partition("=")[0] for argument in arguments} <= _QUESTIONS
        case "nodeadm":
            started = "init" in arguments or _UNKNOWN in "".join(arguments[:1])
        case "systemctl":
            started = _systemctl_starts(arguments, named=named)
        case "service":
            started = _is_unit("".join(arguments[:1]), named=named) and bool(_STARTS & set(arguments[1:2]))
        case _:
            started = False
    return started or (path == "/etc/init.d/kubelet" and bool(_STARTS & set(arguments)))


def _systemctl_starts(arguments: list[str], *, named: bool) -> bool:
    words: list[str] = []
    rest = arguments
    while rest:
        if rest[0].startswith("-"):
            rest = rest[2 if rest[0] in _SYSTEMCTL_VALUES else 1 :]
        else:
            words.append(rest[0])
            rest = rest[1:]
    verb, units = (words[0], words[1:]) if words else ("", [])
    starting = verb in _STARTS or (verb in {"enable", "reenable"} and "--now" in arguments) or _UNKNOWN in verb
    return starting and any(_is_unit(unit, named=named) for unit in units)


def _is_unit(unit: str, *, named: bool) -> bool:
    bare = unit.removesuffix(".service")
    if _UNKNOWN in bare:
        return named
    return bare.startswith("nodeadm") or fnmatch.fnmatchcase("kubelet", bare)
