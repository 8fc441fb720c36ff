"""DaemonSets to audit: those of manifests or a cluster, and those that a plan brings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from multiarch.audit.daemonset_model import Container, DaemonSet
from multiarch.errors import UnknownFactError
from multiarch.facts.addon_daemon_sets import NAMESPACE, AddOnDaemon, list_daemons
from multiarch.facts.addons import is_before
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.kubernetes.source import LoadedObject, add_object_source
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.kinds import DAEMON_SET
from multiarch.manifests.values import ManifestError, ObjectReference, Value
from multiarch.observed.verdicts import NO_IMAGE, ImageVerdicts
from multiarch.observed.workloads import ImageUse, list_uses
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Workload, read_workloads
from multiarch.stack.model import AddonPlan, Plan

_NODE_NAME = ("spec", "template", "spec", "nodeName")
_ROLES = {"initContainers": ContainerRole.INIT, "containers": ContainerRole.CONTAINER}


def list_image_uses(objects: Iterable[LoadedObject]) -> list[ImageUse]:
    """Return the containers of DaemonSets among ``objects``, whoever owns them."""
    return [use for each in objects if each.value.get("kind") == DAEMON_SET for use in list_uses([each])]


def read_daemon_sets(objects: Iterable[LoadedObject], images: ImageVerdicts) -> tuple[DaemonSet, ...]:
    """Return the DaemonSets among ``objects``, in their order; ``images`` holds all that :func:`list_image_uses` found.

    Raises MultiarchError, naming the place, for one that the API server would reject.
    """
    found = [each for each in objects if each.value.get("kind") == DAEMON_SET]
    judged = images.by_use()
    try:
        workloads = [each for each in read_workloads(each.value for each in found) if isinstance(each, Workload)]
        written = [Value(each.value, ObjectReference(number, DAEMON_SET)) for number, each in enumerate(found, start=1)]
        names = [each.at(_NODE_NAME).text() for each in written]
    except ManifestError as error:
        raise add_object_source(error, found) from error
    return tuple(
        DaemonSet(
            workload.namespace,
            workload.name,
            workload.spec,
            tuple(
                Container(use.container, str(use.role), use.image or NO_IMAGE, judged[use.question].judgements)
                for use in list_uses([each])
            ),
            node_name=name,
        )
        for each, workload, name in zip(found, workloads, names, strict=True)
    )


def list_planned_daemon_sets(plan: Plan) -> tuple[DaemonSet, ...]:
    """Return the DaemonSets that a plan brings: those of its add-ons, and those that it installs by Helm."""
    own = (replace(_published(each, each.key), installed_by=each.key) for each in plan.own_daemons)
    return (*add_on_daemon_sets(plan.addons), *own)


def add_on_daemon_sets(add_ons: Iterable[AddonPlan]) -> tuple[DaemonSet, ...]:
    """Return the DaemonSets of a plan's add-ons, by what AWS publishes about them; an unknown one gets a doubt."""
    found = []
    for add_on in add_ons:
        try:
            daemons = list_daemons(add_on.name)
        except UnknownFactError:
            doubt = "the tolerations and node selectors of this add-on's DaemonSets are unknown"
            namespace = add_on.namespace or "?"
            found.append(DaemonSet(namespace, f"({add_on.name})", PodSpec(), (), add_on=add_on.name, doubt=doubt))
            continue
        found += [
            replace(
                _published(daemon, f"add-on {add_on.name}", add_on.namespace),
                add_on=add_on.name,
                doubt=_doubt(add_on, daemon),
            )
            for daemon in daemons
        ]
    return tuple(found)


def _published(daemon: AddOnDaemon, owner: str, namespace: str = NAMESPACE) -> DaemonSet:
    written = {
        "apiVersion": "apps/v1",
        "kind": DAEMON_SET,
        "metadata": {"name": daemon.name, "namespace": namespace},
        "spec": {"template": {"spec": daemon.pod_spec}},
    }
    (workload,) = (each for each in read_workloads([written]) if isinstance(each, Workload))
    return DaemonSet(
        namespace,
        daemon.name,
        workload.spec,
        tuple(
            Container(container["name"], str(role), f"of {owner}", _judgements(daemon))
            for part, role in _ROLES.items()
            for container in daemon.pod_spec.get(part, ())
        ),
        source=daemon.source,
    )


def _judgements(daemon: AddOnDaemon) -> tuple[Judgement, ...]:
    return tuple(Judgement(each, Verdict.SUPPORTED, f"by {daemon.images_source}", None) for each in Architecture)


def _doubt(add_on: AddonPlan, daemon: AddOnDaemon) -> str:
    """Return why what AWS publishes may not apply to this add-on: its version, or its configuration."""
    if daemon.since and is_before(add_on.version, daemon.since):
        return f"it is {add_on.version}, and what is known is of v{'.'.join(map(str, daemon.since))} and later"
    configured = json.loads(add_on.configuration) if add_on.configuration else {}
    other = sorted(set(configured) - daemon.harmless)
    return f"its configuration sets {', '.join(other)}, which may change where it runs" if other else ""
