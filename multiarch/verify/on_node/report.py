"""Read what the script of :mod:`.script` printed on a node: pure."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Sequence

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture, normalise_platform
from multiarch.images.elf import Elf, Script, identify_file
from multiarch.verify.on_node.model import NodeReport, ProgramFile, RunningContainer
from multiarch.verify.on_node.registration import (
    ConfigFile,
    NodeRegistration,
    read_bottlerocket_registration,
    read_kubelet_registration,
)

MOST_BYTES = 4_000_000
"""Maximum bytes of a report when it is decompressed: Run Command gives 24,000 characters."""
_START = re.compile(r"^multiarch-node-report 1 (gzip|plain)\n", re.MULTILINE)
_END = re.compile(r"\nend ([0-9]{1,9})\s*\Z")
_VERSION = re.compile(r"(?<!\S)v?[0-9]+\.[0-9]+\S*")
_SHOWN = 80
_PRINTS = "Check what the node's shell prints before it runs a script."
_UNKNOWN = NodeRegistration(None, None)
_BOTTLEROCKET = "Bottlerocket does not let SSM read its programs"


class NodeReportError(MultiarchError):
    """An output that is not a node's report, or not a complete one."""


def parse_report(text: str) -> NodeReport:
    """Read the output of :func:`multiarch.verify.on_node.script.build_node_script`.

    Lines before the report, such as a login banner, are skipped. Raises NodeReportError for an output without a report,
    with a truncated or a damaged one.
    """
    return _Records(_content(text)).report()


def _content(text: str) -> str:
    start = _START.search(text)
    if start is None:
        raise NodeReportError(_without_report(text), hint=_PRINTS)
    end = _END.search(text, start.end() - 1)
    if end is None:
        raise NodeReportError("The report is truncated: its last line is missing.", hint=_PRINTS)
    body = text[start.end() : end.start()]
    if len(body) != int(end[1]):
        raise NodeReportError(f"The report is damaged: it has {len(body):,} of {int(end[1]):,} characters.")
    return _decompressed(body) if start[1] == "gzip" else body


def _without_report(text: str) -> str:
    shown = " ".join(text.split())
    if not shown:
        return "The output is empty."
    return f"The output is not a report: {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}"


def _decompressed(body: str) -> str:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = unpacker.decompress(base64.b64decode(body, validate=True), MOST_BYTES)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise NodeReportError(f"The report is damaged: {error}.") from error
    if unpacker.unconsumed_tail:
        raise NodeReportError(f"The report has more than {MOST_BYTES:,} bytes when it is decompressed.")
    if not unpacker.eof:
        raise NodeReportError("The report is damaged: its compressed data is truncated.")
    return content.decode(errors="replace")


def _architecture(name: str) -> Architecture | None:
    known, _ = normalise_platform(name, "")
    return Architecture(known) if known in set(Architecture) else None


def _elf(hexadecimal: str, what: str) -> tuple[Elf | None, str]:
    """Return the header, or None and why there is none; no fault for an empty string, which has one of its own."""
    try:
        head = identify_file(bytes.fromhex(hexadecimal))
    except ValueError:
        return None, f"{what}: invalid header {hexadecimal[:_SHOWN]!r}"
    if isinstance(head, Elf):
        return head, ""
    kind = f"a script for {head.interpreter}" if isinstance(head, Script) else head
    return None, f"{what} is not a program, but {kind}" if hexadecimal else ""


class _Records:
    """A report's lines: fields separated by tabs, the first of which says what the others are."""

    def __init__(self, content: str) -> None:
        self.rows: dict[str, list[list[str]]] = {}
        for line in content.split("\n"):
            kind, *fields = line.split("\t")
            self.rows.setdefault(kind, []).append(fields)

    def _first(self, kind: str, count: int) -> Sequence[str]:
        """Return the first ``count`` fields of the first line of this kind; those that are missing are empty."""
        return _padded(next(iter(self.rows.get(kind, ())), ()), count)

    def report(self) -> NodeReport:
        machine, kernel = self._first("uname", 2)
        if not machine:
            raise NodeReportError("The report is damaged: it does not say the node's architecture.")
        (distribution,) = self._first("os", 1)
        faults = [fields[0] for fields in self.rows.get("fault", ()) if fields]
        faults += [f"can't read {what} in {path}" for path, what in self._unread()]
        registration = self._registration()
        programs = tuple(_program(fields) for fields in self.rows.get("program", ()))
        if bottlerocket := self.rows.get("bottlerocket"):
            registration, distribution = read_bottlerocket_registration(_padded(bottlerocket[0], 1)[0])
            faults.append(_BOTTLEROCKET)
        return NodeReport(
            machine=machine,
            architecture=_architecture(machine),
            kernel=kernel,
            distribution=distribution,
            programs=programs,
            labels=registration.labels,
            taints=registration.taints,
            boot_log=tuple(": ".join(fields[:2]) for fields in self.rows.get("log", ())),
            containers=tuple(_container(fields) for fields in self.rows.get("container", ())),
            faults=(*faults, *registration.faults),
            incomplete="more" in self.rows,
        )

    def _unread(self) -> list[Sequence[str]]:
        """Return the files that could not be read, each with what was looked for in it."""
        return [_padded(fields, 2) for fields in self.rows.get("unread", ())]

    def _registration(self) -> NodeRegistration:
        if "kubelet" not in self.rows:
            return _UNKNOWN
        flags = [fields[0] for fields in self.rows.get("flag", ()) if fields]
        # The third field is for the script itself.
        rows = (_padded(fields, 4) for fields in self.rows.get("config", ()))
        files = [ConfigFile(path, taints, registers) for path, taints, _, registers in rows]
        return read_kubelet_registration(flags, files, complete=not self._unread())


def _padded(fields: Sequence[str], count: int) -> Sequence[str]:
    return [*fields[:count], *[""] * (count - len(fields))]


def _program(fields: Sequence[str]) -> ProgramFile:
    name, path, header, version, fault = _padded(fields, 5)
    elf, why = _elf(header, path)
    found = _VERSION.search(version)
    return ProgramFile(name, path, elf, found.group() if found else "", fault or why)


def _container(fields: Sequence[str]) -> RunningContainer:
    container_id, image, config, manifest, _pid, executable, header, emulator, fault = _padded(fields, 9)
    elf, why = _elf(header, executable)
    manifests = manifest.split(",") if manifest else []
    if not config:
        why = why or "containerd's record of this container could not be read"
    elif not manifests:
        why = why or f"containerd holds no manifest with the config {config}"
    elif len(manifests) > 1:
        why = why or f"containerd holds several manifests with the config {config}: {', '.join(manifests)}"
    return RunningContainer(
        container_id=container_id,
        image=image,
        config=config,
        manifest=manifests[0] if len(manifests) == 1 else "",
        executable=executable,
        elf=elf,
        emulator=emulator,
        fault=fault or why,
    )
