"""Pinning a stack: which image releases and add-on versions to write, and where in its file.

Unpinned, a preview next month follows AWS's "recommended" of that day and can replace every node. A group is pinned by
its image's ID, with the release beside it; Karpenter's nodes by an alias, an add-on by its version. A managed group
whose file says ``bootstrap.mode: eks`` gets the release alone: EKS bootstraps no image that a launch template names.
The clients are the caller's; nothing here opens one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from multiarch.autoscaling import image
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.errors import OutsideError, UnknownFactError
from multiarch.facts.addons import add_on
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.extra_addons import find_extra
from multiarch.nodes.model import NodeGroupPlan
from multiarch.schema.addons import Addon, ExtraAddon
from multiarch.schema.autoscaling import Karpenter
from multiarch.schema.base import Section
from multiarch.schema.nodes import Ami
from multiarch.stack.load import Stack
from multiarch.stack.model import AddonPlan, Plan
from multiarch.stack.writing import write_values
from multiarch.threads import split_items
from multiarch.yaml_text.additions import Addition

_SSM_BATCH = 10


Client = Any
"""A client of boto3, which has no types."""
PinValue = str | bool | tuple[str, ...]
"""A value to write; a tuple is a list."""


@dataclass(frozen=True, slots=True)
class PinClients:
    """One client per service, all of the stack's region."""

    ssm: Client
    eks: Client
    ec2: Client


@dataclass(frozen=True, slots=True)
class Pin:
    """One value to write. ``key`` is the path in the stack, ``old`` the current value, ``note`` a comment behind it."""

    key: str
    old: PinValue | None
    new: PinValue
    note: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """One value that stays as it is, and why."""

    key: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pins:
    """What pinning a stack comes to: ``changes`` and ``kept`` in the order of groups, add-ons, Karpenter."""

    changes: tuple[Pin, ...]
    kept: tuple[Kept, ...]

    @classmethod
    def sort(cls, rows: Iterable[Pin | Kept]) -> Pins:
        """Return the rows, each once: groups of one zone each share their place in the file."""
        once = dict.fromkeys(rows)
        return cls(
            tuple(row for row in once if isinstance(row, Pin)), tuple(row for row in once if isinstance(row, Kept))
        )


def remove_releases(stack: Stack) -> Stack:
    """Remove releases and add-on versions from a stack: it can then be planned although they are outdated."""
    return replace(stack, spec=_without_releases(stack.spec), addon_schemas={})


def _without_releases(value: Any) -> Any:  # noqa: ANN401  (a section, or what a field of one holds)
    """Return the same value where nothing changes, so that no section counts as written that was omitted."""
    if isinstance(value, dict):
        made = {name: _without_releases(each) for name, each in value.items()}
        return made if any(made[name] is not each for name, each in value.items()) else value
    if not isinstance(value, Section):
        return value
    update = {name: made for name, each in value if (made := _without_releases(each)) is not each}
    if isinstance(value, Ami) and value.release:
        update["release"] = None
    elif isinstance(value, Addon) and value.version:
        update["version"] = None
    elif isinstance(value, Karpenter) and value.ami_alias:
        # The family of the written alias stays: it may be another one than the stack's.
        update["ami_alias"] = image.unpin_alias(value.ami_alias)
    return value.model_copy(update=update) if update else value


def find_pins(stack: Stack, plan: Plan, clients: PinClients, *, upgrade: bool) -> Pins:
    """Query AWS for what ``plan`` leaves open; with ``upgrade`` also for what is pinned already.

    ``plan`` is the plan of the stack, or of :func:`remove_releases` when upgrading. Raises OutsideError when AWS
    publishes no such image or add-on version; botocore's own errors pass through.
    """
    results: list[Pin | Kept] = []
    wanted: list[tuple[NodeGroupPlan, _WrittenAmi, Mapping[str, str]]] = []
    for group in plan.node_groups:
        written = _read_ami(stack, group)
        if reason := _why_kept(written, clients, upgrade=upgrade):
            results.append(Kept(written.key, written.ami.id or written.ami.release or "", reason))
        else:
            wanted.append((group, written, _image_parameters(group, written, plan.cluster.version, upgrade=upgrade)))
    found = _parameters(clients.ssm, [name for _, _, names in wanted for name in names.values()])
    for group, written, names in wanted:
        for field, name in names.items():
            note = group.ami_type.name if field == "id" else ""
            pin = Pin(f"{written.key}.{field}", getattr(written.ami, field), found[name], note)
            results.append(_unless_same(pin))
    results += [_addon_pin(stack, plan, addon, clients.eks, upgrade=upgrade) for addon in plan.addons]
    if karpenter := plan.autoscaling.karpenter:
        results.append(_alias_pin(stack, karpenter, clients.ssm, upgrade=upgrade))
    return Pins.sort(results)


def write_pins(text: str, changes: Sequence[Pin]) -> str:
    """Return a stack file's text with the changes made and every other byte as it was.

    Raises MultiarchError when a value has no place of its own, as when an alias shares one mapping between two groups
    that need different images.
    """
    return write_values(text, (Addition(tuple(pin.key.split(".")), pin.new, pin.note) for pin in changes))


@dataclass(frozen=True, slots=True)
class _WrittenAmi:
    """A group's image as the file has it, and its key. ``by_release``: the file leaves the bootstrap to EKS."""

    key: str
    ami: Ami
    by_release: bool


def _read_ami(stack: Stack, group: NodeGroupPlan) -> _WrittenAmi:
    section, _, name = group.key.partition(".")
    if section == "nodeGroups":
        single = stack.spec.node_groups[name]
        return _WrittenAmi(f"{group.key}.ami", single.ami, single.bootstrap.mode == "eks")
    half = group.architecture.value
    both = stack.spec.multi_architecture_groups[name]
    return _WrittenAmi(f"{group.key}.ami.{half}", getattr(both.ami, half), both.bootstrap.mode == "eks")


def _why_kept(written: _WrittenAmi, clients: PinClients, *, upgrade: bool) -> str | None:
    ami = written.ami
    if not upgrade:
        pinned = ami.id is not None or (written.by_release and ami.release is not None)
        return "pinned already; --upgrade takes the recommended one" if pinned else None
    if ami.id is None:
        return None
    images = clients.ec2.describe_images(ImageIds=[ami.id])["Images"]
    return None if images and images[0].get("ImageOwnerAlias") == "amazon" else "an image of your own"


def _image_parameters(group: NodeGroupPlan, written: _WrittenAmi, version: str, *, upgrade: bool) -> dict[str, str]:
    """Return the SSM parameter of each value to write; a release that is written stays without ``upgrade``."""
    kind = group.ami_type
    if (release := written.ami.release) and not upgrade:
        return {"id": image.get_image_parameter(image.get_alias(kind.family, release), kind, version)}
    identifier = {} if written.by_release else {"id": kind.ssm_parameter(version, "image_id")}
    return {**identifier, "release": kind.ssm_parameter(version, "release_version")}


def _unless_same(pin: Pin) -> Pin | Kept:
    return Kept(pin.key, str(pin.new), "is the recommended one") if pin.new == pin.old else pin


def _alias_pin(stack: Stack, plan: KarpenterPlan, client: Client, *, upgrade: bool) -> Pin | Kept:
    """Return the alias of the recommended release, once AWS publishes it for every image that the pools need.

    Raises OutsideError where it does not: Karpenter would omit the types whose image is missing.
    """
    key, version = ".".join(map(str, image.PATH)), stack.spec.kubernetes_version
    written = stack.spec.autoscaling.karpenter.ami_alias
    if written is not None and image.is_pinned(written) and not upgrade:
        return Kept(key, written, "pinned already; --upgrade takes the recommended one")
    family = AmiFamily(plan.node_class.ami_family)
    needed = image.list_images(family, (each for pool in plan.pools for each in pool.instance_types))
    names = {each.name: each.ssm_parameter(version, "release_version") for each in needed}
    found = _parameters(client, list(names.values()))
    try:
        aliases = {name: image.get_alias(family, found[parameter]) for name, parameter in names.items()}
    except UnknownFactError as error:
        raise OutsideError(f"AWS recommends an image whose release can't be read: {error.message}") from error
    if len(set(aliases.values())) != 1:
        raise OutsideError(
            f"AWS recommends different releases for Karpenter's images: "
            f"{', '.join(f'{alias} for {name}' for name, alias in aliases.items())}.",
            hint=f"AWS is publishing a new one: try again later, or write {key} by hand.",
        )
    (alias,) = set(aliases.values())
    # The release that is recommended can also be had by its name, or Karpenter would find nothing.
    _parameters(client, [image.get_image_parameter(alias, each, version) for each in needed])
    return _unless_same(Pin(key, written, alias))


def _parameters(client: Client, names: Sequence[str]) -> dict[str, str]:
    """Read SSM parameters, ten at a time as the API takes them."""
    found: dict[str, str] = {}
    for batch in split_items(sorted(set(names)), _SSM_BATCH):
        answer = client.get_parameters(Names=batch)
        if missing := sorted(answer.get("InvalidParameters", ())):
            raise OutsideError(
                f"AWS publishes no parameter {missing[0]} in this region.",
                hint="Check kubernetesVersion, amiFamily, ami.release and the region; or use --upgrade.",
            )
        found |= {parameter["Name"]: parameter["Value"] for parameter in answer["Parameters"]}
    return found


def _addon_pin(stack: Stack, plan: Plan, addon: AddonPlan, client: Client, *, upgrade: bool) -> Pin | Kept:
    row = find_extra(addon.name) if addon.extra else add_on(addon.name)
    key, version = f"addons.{row.key}.version", stack.spec.kubernetes_version
    settings = stack.spec.addons[row.name]
    written = settings.version
    if written is not None and not upgrade:
        return Kept(key, written, "pinned already; --upgrade takes EKS's default")
    offered = _find_default(client, row.name, version)
    default, note = str(offered["addonVersion"]), ""
    if isinstance(settings, ExtraAddon):
        _check_architectures(row.name, default, offered.get("architecture", ()), plan.architectures)
        if offered.get("requiresIamPermissions") and settings.policies is None and not addon.service_account:
            note = "needs permissions in AWS: write policies or statements"
    return Kept(key, default, "is EKS's default") if written == default else Pin(key, written, default, note)


def _find_default(client: Client, name: str, kubernetes_version: str) -> Mapping[str, Any]:
    """Return what EKS says of the default version of an add-on. Raises OutsideError where there is none."""
    answer = client.describe_addon_versions(addonName=name, kubernetesVersion=kubernetes_version)
    for addon in answer["addons"]:
        for offered in addon["addonVersions"]:
            for compatibility in offered["compatibilities"]:
                if compatibility.get("clusterVersion") == kubernetes_version and compatibility.get("defaultVersion"):
                    found: Mapping[str, Any] = offered
                    return found
    raise OutsideError(f"EKS names no default version of {name} for Kubernetes {kubernetes_version}.")


def _check_architectures(name: str, version: str, built: Collection[str], wanted: Collection[str]) -> None:
    """Raise OutsideError for a version without images for the stack's nodes, as far as EKS says."""
    if built and (missing := sorted(set(wanted) - set(built))):
        raise OutsideError(
            f"EKS lists {name} {version} for {', '.join(built)}, not for {', '.join(missing)}, which the stack's nodes "
            "have.",
            hint=f"Remove addons.extra.{name}, or keep its pods off these nodes and write its version.",
        )
