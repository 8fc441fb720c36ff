"""The plan of add-ons that a stack names in ``addons.extra``: their configuration, and the role of their pods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from multiarch.errors import KeyPath, MultiarchError
from multiarch.facts.addons import AddOn, Component, add_ons, is_before, set_value
from multiarch.facts.extra_addons import EXTRA, find_extra
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import Toleration, make_toleration
from multiarch.manifests.values import ManifestError, ObjectReference, Value
from multiarch.nodes.report import ProblemReport
from multiarch.scheduling.tolerations import find_untolerated, read_tolerations
from multiarch.schema.addons import Addons, ExtraAddon
from multiarch.stack.addon_schemas import find_faults
from multiarch.stack.model import AddonPlan
from multiarch.stack.schema_paths import find_nearest
from multiarch.stack.service_accounts import write_policy


def plan_extra_addons(
    spec: Addons, schemas: Mapping[str, Any], arm64_taint: Taint | None, report: ProblemReport, *, pinning: bool
) -> Iterator[AddonPlan]:
    """Plan the enabled add-ons of ``addons.extra``, in the order of their names.

    ``schemas`` are AWS's, of the versions that are written. With ``pinning``, what a pin is about to write may be
    missing.
    """
    for name, settings in sorted(spec.extra.items()):
        path = ("addons", "extra", name)
        if own := add_ons().get(name):
            report("addon-own-key", path, f"{name} has a key of its own.", hint=f"Write addons.{own.key} instead.")
            continue
        if name not in EXTRA and (near := find_nearest(name, tuple(EXTRA))):
            hint = f"Did you mean {near}? `aws eks describe-addon-versions` shows all names."
            report("addon-unknown", path, f"nothing is known here of an add-on {name}.", hint=hint)
        if settings.enabled:
            planned = _plan(find_extra(name), settings, arm64_taint, report, pinning=pinning)
            _check_configuration(planned, settings, schemas, report)
            yield planned


def find_tolerations(component: Component, values: Mapping[str, Any]) -> tuple[Toleration, ...]:
    """Return the tolerations of a component: those in its add-on's configuration values, or the add-on's own.

    Also the latter where the values can't be read as tolerations, which :func:`plan_extra_addons` reports.
    """
    try:
        written = _at(component, values)
        return component.default_tolerations if written.missing else read_tolerations(written)
    except ManifestError:
        return component.default_tolerations


def _at(component: Component, values: Mapping[str, Any]) -> Value:
    return Value(values, ObjectReference(1)).at(component.path)


def _plan(
    row: AddOn, settings: ExtraAddon, arm64_taint: Taint | None, report: ProblemReport, *, pinning: bool
) -> AddonPlan:
    path = ("addons", "extra", row.name)
    values = _configure(row, settings.configuration_values, arm64_taint, report)
    policies = row.managed_policies if settings.policies is None else tuple(settings.policies)
    account, namespace = settings.service_account or row.service_account, settings.namespace or row.namespace
    has_role = bool(policies or settings.statements)
    if settings.before_nodes and any(not each.daemon for each in row.components):
        message = f"{row.name} has pods that wait for a node: it would not become healthy."
        report("addon-before-nodes", (*path, "beforeNodes"), message)
    if has_role and not (account and namespace) and not pinning:
        message = f"the service account and the namespace of {row.name}, which its role is for, are unknown."
        report("addon-service-account", path, message)
    if has_role and row.pod_identity_since and is_before(settings.version, row.pod_identity_since):
        first = ".".join(map(str, row.pod_identity_since))
        report("addon-pod-identity", (*path, "version"), f"{row.name} takes a role by Pod Identity from v{first} on.")
    if not has_role and settings.policies is None and account:
        report("addon-without-policies", path, f"{row.name} gets no IAM role, and has no permissions in AWS.")
    return AddonPlan(
        name=row.name,
        version=settings.version,
        configuration=json.dumps(values, sort_keys=True) if values else "",
        before_nodes=settings.before_nodes,
        service_account=account if has_role and namespace else None,
        policies=policies,
        policy=write_policy(settings.statements),
        namespace=namespace,
        extra=True,
    )


def _configure(
    row: AddOn, written: Mapping[str, Any], arm64_taint: Taint | None, report: ProblemReport
) -> Mapping[str, Any]:
    """Return configuration values with which every component tolerates the taint, as far as that is known."""
    values = written
    for component in row.components:
        path = ("addons", "extra", row.name, "configurationValues", *component.path)
        try:
            found = _at(component, written)
            own = component.default_tolerations if found.missing else read_tolerations(found)
        except ManifestError as error:
            report("addon-configuration", path, f"{error.message.partition(': ')[2]}", hint=error.hint)
            continue
        lasting = [each for each in own if each.seconds is None]
        if arm64_taint and not component.by_hand and find_untolerated(lasting, [arm64_taint]):
            tolerations = [each.as_dict() for each in (*own, make_toleration(arm64_taint))]
            values = set_value(values, component.path, tolerations)
    return values


def _check_configuration(
    planned: AddonPlan, settings: ExtraAddon, schemas: Mapping[str, Any], report: ProblemReport
) -> None:
    path: KeyPath = ("addons", "extra", planned.name, "configurationValues")
    if planned.name not in schemas:
        if settings.configuration_values:
            why = f"AWS's schema of {planned.version} was not fetched" if planned.version else "no version is written"
            report("addon-not-checked", path, f"the values are not checked before EKS does: {why}.")
        return
    try:
        for place, message, hint in find_faults(schemas[planned.name], json.loads(planned.configuration or "{}")):
            report("addon-configuration", (*path, *place), message, hint=hint)
    except MultiarchError as error:
        report("addon-schema", path, error.message, hint=error.hint)
