"""Settings of the kubelet and registry mirrors: checked as the kubelet and containerd would, and what pods then get.

Sources: Kubernetes, ``pkg/kubelet/apis/config/validation`` and ``pkg/kubelet/eviction/helpers.go``; containerd,
``docs/hosts.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from multiarch.errors import KeyPath
from multiarch.facts.ami_families import AmiFamily, get_family
from multiarch.facts.node_resources import DEFAULT_RESERVATIONS, Reservations, Threshold
from multiarch.manifests.quantities import QuantityError, parse_quantity, round_up, round_up_to_millis
from multiarch.nodes.model import KubeletPlan, Mirrors
from multiarch.nodes.report import ProblemReport
from multiarch.schema.kubelet import Kubelet

_EKS_EVICTION = {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"}
"""nodeadm, ``internal/kubelet/config.go``. A kubelet that is told one threshold has no other."""
_IMAGES_HIGH, _IMAGES_LOW, _WHOLE = 85, 80, 100
_DURATION = re.compile(r"(?=.*[1-9])(?:[0-9]{1,6}(?:ms|s|m|h))+", re.ASCII)
_PERCENT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,2})?%", re.ASCII)


def plan_kubelet(settings: Kubelet, path: KeyPath, family: AmiFamily, report: ProblemReport) -> KubeletPlan:
    """Derive what the kubelet is told, reporting what it would not start with."""
    written = {key: value for key, value in settings.read_written().items() if value is not None}
    if not written:
        return KubeletPlan()
    if not get_family(family).takes_kubelet:
        report("kubelet-family", path, f"kubelet settings of {family} are not supported.")
    known = {key: _check_thresholds(written, key, path, report) for key in ("evictionHard", "evictionSoft")}
    _check_grace_periods(settings, path, report)
    _check_images(settings, path, report)
    kube, system = (
        _read_amounts(written.get(key, {}), (*path, key), report) for key in ("kubeReserved", "systemReserved")
    )
    if settings.eviction_hard:
        written["evictionHard"] = {**_EKS_EVICTION, **written["evictionHard"]}
    hard = known["evictionHard"]
    return KubeletPlan(
        tuple(
            (key, tuple(sorted(value.items())) if isinstance(value, dict) else value) for key, value in written.items()
        ),
        Reservations(
            kube,
            system,
            hard.get("memory.available", DEFAULT_RESERVATIONS.memory),
            hard.get("nodefs.available", DEFAULT_RESERVATIONS.disk),
        ),
    )


def check_room(given: Mapping[str, int], path: KeyPath, report: ProblemReport) -> None:
    """Report settings that leave pods nothing. ``given`` is what an empty node gives, or whether any gives it."""
    for resource, amount in given.items():
        if amount <= 0 and resource != "pods":
            report("kubelet-no-room", path, f"nothing of {resource} is left for pods.")


def plan_mirrors(written: Mapping[str, list[str]], report: ProblemReport) -> Mirrors:
    """Return the registry mirrors, reporting a host that containerd does not look for."""
    if (docker := "index.docker.io") in written:
        report("registry-mirror", ("registryMirrors", docker), "containerd's name of Docker Hub is docker.io.")
    return tuple((registry, tuple(written[registry])) for registry in sorted(written))


def _check_thresholds(
    written: Mapping[str, Mapping[str, str]], key: str, path: KeyPath, report: ProblemReport
) -> dict[str, Threshold]:
    found = {}
    for signal, text in written.get(key, {}).items():
        place = (*path, key, signal)
        if _PERCENT.fullmatch(text):
            part = Fraction(text.removesuffix("%"))
            if part > _WHOLE:
                report("kubelet-value", place, f"{text} is above 100 %.", hint="Write one such as 10%.")
                continue
            # 0 and 100 per cent turn a signal off (``eviction/helpers.go``).
            found[signal] = Threshold(per_mille=round_up(part * 10) % (10 * _WHOLE))
        elif (amount := _read(text, place, round_up, report)) is not None:
            if text.isdigit() and signal.endswith(".available"):
                report("kubelet-value", place, f"{text} has no unit: that many bytes.", hint="Write one such as 200Mi.")
            found[signal] = Threshold(amount)
    return found


def _check_grace_periods(settings: Kubelet, path: KeyPath, report: ProblemReport) -> None:
    soft, periods = settings.eviction_soft, settings.eviction_soft_grace_period
    for signal in soft:
        if signal not in periods:
            report(
                "kubelet-eviction",
                (*path, "evictionSoft", signal),
                f"evictionSoft has {signal}, and evictionSoftGracePeriod has not.",
                hint="Write how long it may be crossed, such as 2m.",
            )
    for signal, period in periods.items():
        place = (*path, "evictionSoftGracePeriod", signal)
        if signal not in soft:
            report("kubelet-eviction", place, f"evictionSoftGracePeriod has {signal}, and evictionSoft has not.")
        if not _DURATION.fullmatch(period):
            report("kubelet-value", place, f"{period!r} is not a duration.", hint="Write one such as 90s or 2m.")


def _check_images(settings: Kubelet, path: KeyPath, report: ProblemReport) -> None:
    high, low = settings.image_gc_high_threshold_percent, settings.image_gc_low_threshold_percent
    if (high is not None or low is not None) and (_IMAGES_LOW if low is None else low) >= (
        _IMAGES_HIGH if high is None else high
    ):
        key = "imageGCHighThresholdPercent" if high is not None else "imageGCLowThresholdPercent"
        report(
            "kubelet-images",
            (*path, key),
            f"imageGCLowThresholdPercent ({_IMAGES_LOW if low is None else low}) is not below "
            f"imageGCHighThresholdPercent ({_IMAGES_HIGH if high is None else high}).",
        )


def _read_amounts(written: Mapping[str, str], path: KeyPath, report: ProblemReport) -> tuple[tuple[str, int], ...]:
    found = {}
    for resource, text in sorted(written.items()):
        units = round_up_to_millis if resource == "cpu" else round_up
        if (amount := _read(text, (*path, resource), units, report)) is not None:
            found[resource] = amount
    return tuple(found.items())


def _read(text: str, path: KeyPath, units: Callable[[Fraction], int], report: ProblemReport) -> int | None:
    """Return a quantity above or equal to zero in whole units; None for another string, which is reported."""
    try:
        amount = parse_quantity(text)
    except QuantityError as error:
        report("kubelet-value", path, error.message, hint=error.hint)
        return None
    if amount < 0:
        report("kubelet-value", path, f"{text} is negative.")
        return None
    return units(amount)
