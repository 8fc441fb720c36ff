"""Images outside of pod specs: the fields of known kinds that hold some, and what looks like one in other fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from multiarch.errors import KeyPath
from multiarch.manifests.containers import walk_mappings

_EACH = "[]"
"""In a path: every element of the list before it."""


def _paths(*prefixes: str, fields: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    written = (f"{prefix}.{field}" for prefix in prefixes for field in fields)
    return tuple(tuple(path.replace("[]", f".{_EACH}").split(".")) for path in written)


_TEKTON = ("steps[].image", "sidecars[].image", "stepTemplate.image")
_TEKTON_TASKS = ("tasks[].taskSpec", "finally[].taskSpec")
_ARGO = ("container.image", "script.image", "sidecars[].image")
_ARGO_TEMPLATES = ("templates[]", "templateDefaults")
_SPARK = ("image", "driver.image", "executor.image", "driver.sidecars[].image", "executor.sidecars[].image")
_STRIMZI_KAFKA = (
    *("kafka.image", "zookeeper.image", "cruiseControl.image", "kafkaExporter.image", "jmxTrans.image"),
    *("entityOperator.topicOperator.image", "entityOperator.userOperator.image", "entityOperator.tlsSidecar.image"),
)
_IMAGE = _paths("spec", fields=("image",))


def _below(*parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return every combination of the parts, joined by a dot."""
    found: tuple[str, ...] = ("spec",)
    for part in parts:
        found = tuple(f"{before}.{each}" for before in found for each in part)
    return found


IMAGE_FIELDS: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        ("tekton.dev", "Task"): _paths("spec", fields=_TEKTON),
        ("tekton.dev", "ClusterTask"): _paths("spec", fields=_TEKTON),
        ("tekton.dev", "TaskRun"): _paths("spec.taskSpec", fields=_TEKTON),
        ("tekton.dev", "StepAction"): _IMAGE,
        ("tekton.dev", "Pipeline"): _paths(*_below(_TEKTON_TASKS), fields=_TEKTON),
        ("tekton.dev", "PipelineRun"): _paths(*_below(("pipelineSpec",), _TEKTON_TASKS), fields=_TEKTON),
        ("argoproj.io", "Workflow"): _paths(*_below(_ARGO_TEMPLATES), fields=_ARGO),
        ("argoproj.io", "WorkflowTemplate"): _paths(*_below(_ARGO_TEMPLATES), fields=_ARGO),
        ("argoproj.io", "ClusterWorkflowTemplate"): _paths(*_below(_ARGO_TEMPLATES), fields=_ARGO),
        ("argoproj.io", "CronWorkflow"): _paths(*_below(("workflowSpec",), _ARGO_TEMPLATES), fields=_ARGO),
        ("sparkoperator.k8s.io", "SparkApplication"): _paths("spec", fields=_SPARK),
        ("sparkoperator.k8s.io", "ScheduledSparkApplication"): _paths("spec.template", fields=_SPARK),
        ("kafka.strimzi.io", "Kafka"): _paths("spec", fields=_STRIMZI_KAFKA),
        ("kafka.strimzi.io", "KafkaConnect"): _paths("spec", fields=("image", "build.output.image")),
        ("kafka.strimzi.io", "KafkaMirrorMaker2"): _IMAGE,
        ("kafka.strimzi.io", "KafkaMirrorMaker"): _IMAGE,
        ("kafka.strimzi.io", "KafkaBridge"): _IMAGE,
        ("monitoring.coreos.com", "Prometheus"): _paths("spec", fields=("image", "thanos.image")),
        ("monitoring.coreos.com", "PrometheusAgent"): _IMAGE,
        ("monitoring.coreos.com", "Alertmanager"): _IMAGE,
        ("monitoring.coreos.com", "ThanosRuler"): _IMAGE,
        ("elasticsearch.k8s.elastic.co", "Elasticsearch"): _IMAGE,
        ("kibana.k8s.elastic.co", "Kibana"): _IMAGE,
        ("beat.k8s.elastic.co", "Beat"): _IMAGE,
        ("postgresql.cnpg.io", "Cluster"): _paths("spec", fields=("imageName",)),
        ("flink.apache.org", "FlinkDeployment"): _IMAGE,
        ("rabbitmq.com", "RabbitmqCluster"): _IMAGE,
        ("opentelemetry.io", "OpenTelemetryCollector"): _IMAGE,
    }
)
"""By API group and kind, the paths of fields that hold an image's name, by the operators' API references.

Pod specs are found without them.
"""

_NAMES_AN_IMAGE = re.compile(r"(?:.*[a-z0-9_-])?images?(?:name|ref|reference|repository|url)?", re.IGNORECASE)
_PARTS_OF_A_NAME = ("repository", "reference", "name", "newName", "registry", "image")


def list_field_images(content: Mapping[str, object]) -> Iterator[tuple[KeyPath, object]]:
    """Yield what the fields of a known kind hold, in the order of :data:`IMAGE_FIELDS`, each with its keys."""
    version = content.get("apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    for path in IMAGE_FIELDS.get((group, str(content.get("kind"))), ()):
        yield from _at(content, path, ())


def find_possible_images(content: Mapping[str, object]) -> Iterator[KeyPath]:
    """Yield the keys of what looks like an image by its name, and is neither in a pod spec nor in a known field."""
    known = {path for path, _ in list_field_images(content)}
    for path, value in walk_mappings(content):
        for key, inner in value.items():
            if not isinstance(key, str) or "image" not in key.lower() or not _NAMES_AN_IMAGE.fullmatch(key):
                continue
            if (*path, key) not in known and _may_name_one(inner):
                yield (*path, key)


def _at(value: object, path: tuple[str, ...], above: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    if not path:
        if value is not None:
            yield above, value
    elif path[0] == _EACH:
        for index, element in enumerate(value if isinstance(value, list) else ()):
            yield from _at(element, path[1:], (*above, index))
    elif isinstance(value, Mapping):
        yield from _at(value.get(path[0]), path[1:], (*above, path[0]))


def _may_name_one(value: object) -> bool:
    """Return whether a value is a string without blanks, has one as a part of an image's name, or is a list of such."""
    if isinstance(value, list):
        return any(map(_may_name_one, value))
    if isinstance(value, Mapping):
        return any(isinstance(value.get(part), str) and value.get(part) for part in _PARTS_OF_A_NAME)
    return isinstance(value, str) and bool(value) and not any(each.isspace() for each in value)
