"""The objects of an installation of the webhook: complete, with few rights, the same each time."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from multiarch.errors import MultiarchError
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.install.model import Installation, Object
from multiarch.webhook.install.objects import objects

IMAGE = "registry.example.com/multiarch-webhook@sha256:" + 64 * "a"


def installed(**values: Any) -> dict[tuple[str, str], Object]:
    """The objects of an installation with these values, by kind and name."""
    found = objects(Installation.model_validate({"image": IMAGE, **values}))
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(by_name) == len(found)
    return by_name


def pod_specs(found: dict[tuple[str, str], Object]) -> list[Object]:
    specs = [each["spec"]["template"]["spec"] for (kind, _), each in found.items() if kind in ("Deployment", "Job")]
    return [
        *specs,
        *(each["spec"]["jobTemplate"]["spec"]["template"]["spec"] for (k, _), each in found.items() if k == "CronJob"),
    ]


def rules(found: dict[tuple[str, str], Object]) -> dict[tuple[str, str], list[Object]]:
    return {key: each["rules"] for key, each in found.items() if key[0] in ("Role", "ClusterRole")}


def test_all_kinds_are_there() -> None:
    assert sorted({kind for kind, _ in installed()}) == [
        *("ClusterRole", "ClusterRoleBinding", "ConfigMap", "CronJob", "Deployment", "HorizontalPodAutoscaler", "Job"),
        *("MutatingWebhookConfiguration", "Namespace", "NetworkPolicy", "PodDisruptionBudget", "Role", "RoleBinding"),
        *("Secret", "Service", "ServiceAccount"),
    ]  # fmt: skip


def test_the_same_installation_gives_the_same_objects() -> None:
    assert json.dumps(list(installed().values())) == json.dumps(list(installed().values()))


def test_the_server_has_no_rights_and_no_token() -> None:
    found = installed()
    assert found["Deployment", "multiarch-webhook"]["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
    subjects = [each["subjects"] for (kind, _), each in found.items() if kind.endswith("RoleBinding")]
    assert {each["name"] for found_subjects in subjects for each in found_subjects} == {
        "multiarch-webhook-certificates"
    }


def test_the_job_s_rights_are_those_of_one_secret_and_one_webhook() -> None:
    granted = [rule for each in rules(installed()).values() for rule in each]
    assert sorted((*rule["resources"], *rule["resourceNames"], *rule["verbs"]) for rule in granted) == [
        ("mutatingwebhookconfigurations", "zz-multiarch-webhook", "get", "patch"),
        ("secrets", "multiarch-webhook-tls", "get", "patch"),
    ]


def test_pull_secrets_are_read_by_name_only() -> None:
    names = ["team-a/one", "team-b/x", "team-a/two"]
    found = objects(
        Installation(
            image=IMAGE, configuration=WebhookConfiguration.model_validate({"registries": {"pullSecrets": names}})
        )
    )
    roles = [each for each in found if each["kind"] == "Role" and each["metadata"]["name"].endswith("pull-secrets")]
    assert [(each["metadata"]["namespace"], each["rules"][0]["resourceNames"]) for each in roles] == [
        ("team-a", ["one", "two"]),
        ("team-b", ["x"]),
    ]
    assert all(each["rules"][0]["verbs"] == ["get"] for each in roles)
    (deployment,) = (each for each in found if each["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["automountServiceAccountToken"] is True


def test_events_add_one_right_and_side_effects() -> None:
    found = installed(configuration={"events": True})
    (rule,) = rules(found)["ClusterRole", "multiarch-webhook-events"]
    assert (rule["resources"], rule["verbs"]) == (["events"], ["create"])
    webhooks = found["MutatingWebhookConfiguration", "zz-multiarch-webhook"]["webhooks"]
    assert {each["sideEffects"] for each in webhooks} == {"NoneOnDryRun"}


def test_a_changed_configuration_starts_new_pods() -> None:
    def annotations(**values: Any) -> Object:
        template = installed(**values)["Deployment", "multiarch-webhook"]["spec"]["template"]
        found: Object = template["metadata"]["annotations"]
        return found

    assert annotations() == annotations(replicas=1)
    assert annotations() != annotations(configuration={"mode": "observe"})


def test_a_changed_job_has_another_name() -> None:
    def names(**values: Any) -> list[str]:
        return [name for kind, name in installed(**values) if kind == "Job"]

    assert names() == names(replicas=1)
    assert names() != names(image="other")


def test_pods_run_on_both_architectures() -> None:
    for spec in pod_specs(installed(configuration={"taints": ["arch=arm64:NoSchedule", "graviton:NoExecute"]})):
        assert "affinity" not in spec
        assert spec["nodeSelector"] == {"kubernetes.io/os": "linux"}
        assert [each["key"] for each in spec["tolerations"]] == ["arch", "graviton"]


def test_a_secret_of_one_issuer_is_never_written_by_the_other() -> None:
    """Their types differ and can't be changed; Helm and Pulumi delete the one that is no longer declared."""
    names = []
    for certificates in ("self-managed", "cert-manager"):
        found = installed(certificates=certificates)
        volumes = found["Deployment", "multiarch-webhook"]["spec"]["template"]["spec"]["volumes"]
        (volume,) = (each["secret"] for each in volumes if each["name"] == "certificate")
        names.append(volume["secretName"])
        written = [name for kind, name in found if kind == "Secret"]
        written += [each["spec"]["secretName"] for (kind, _), each in found.items() if kind == "Certificate"]
        assert volume["secretName"] in written
    assert names == ["multiarch-webhook-tls", "multiarch-webhook-cert-manager"]


def test_no_autoscaler_where_the_most_replicas_are_the_least() -> None:
    found = installed(maxReplicas=2)
    assert ("HorizontalPodAutoscaler", "multiarch-webhook") not in found
    assert found["Deployment", "multiarch-webhook"]["spec"]["replicas"] == 2
    assert "replicas" not in installed()["Deployment", "multiarch-webhook"]["spec"]


def test_the_memory_follows_the_cache() -> None:
    def memory(**values: Any) -> str:
        spec = installed(**values)["Deployment", "multiarch-webhook"]["spec"]["template"]["spec"]
        return str(spec["containers"][0]["resources"]["limits"]["memory"])

    assert memory() == "256Mi"
    assert memory(configuration={"cache": {"memoryMib": 256}}) == "544Mi"
    assert memory(resources={"memoryMib": 300}) == "300Mi"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"resources": {"memoryMib": 100}}, "resources.memoryMib must be at least 144"),
        ({"issuer": {"name": "x"}}, "issuer needs certificates: cert-manager"),
        ({"configuration": {"cache": {"file": "images.sqlite"}}}, "cache.file must be in a folder"),
        ({"configuration": {"cache": {"file": "/images.sqlite"}}}, "cache.file must be in a folder"),
        ({"sharedCache": {"secret": "x"}, "configuration": {"cache": {"sharedUrlFile": "/x"}}}, "exclude each other"),
        ({"name": "Upper"}, "should match pattern"),
        ({"replica": 3}, "Extra inputs are not permitted"),
        ({"image": ""}, "should match pattern"),
    ],
)
def test_invalid_values_are_refused(values: Object, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        installed(**values)


def test_an_invalid_taint_is_refused() -> None:
    with pytest.raises(MultiarchError, match="has no effect"):
        installed(configuration={"taints": ["arch"]})


def test_the_network_policy_allows_what_the_configuration_names() -> None:
    registries = {"allowed": ["docker.io", "registry.local:5000"], "plainHttp": ["plain.local"], "ecr": False}
    found = installed(
        configuration={"registries": registries},
        sharedCache={"secret": "cache", "port": 6380},
        networkPolicy={"extraEgress": [{"ports": [{"port": 9000}]}]},
    )
    egress = found["NetworkPolicy", "multiarch-webhook"]["spec"]["egress"]
    assert [[port["port"] for port in rule["ports"]] for rule in egress] == [[53, 53], [443, 5000, 80], [6380], [9000]]
    assert not [kind for kind, _ in installed(networkPolicy={"enabled": False}) if kind == "NetworkPolicy"]


def test_the_shared_cache_s_url_is_a_file() -> None:
    found = installed(sharedCache={"secret": "valkey"}, configuration={"cache": {"memoryMib": 32}})
    configuration = yaml.safe_load(found["ConfigMap", "multiarch-webhook"]["data"]["config.yaml"])
    assert configuration["cache"]["memoryMib"] == 32
    assert configuration["cache"]["sharedUrlFile"] == "/etc/multiarch/shared-cache/url"
    volumes = found["Deployment", "multiarch-webhook"]["spec"]["template"]["spec"]["volumes"]
    assert {
        "name": "shared-cache",
        "secret": {"secretName": "valkey", "items": [{"key": "url", "path": "url"}]},
    } in volumes


def test_only_a_cache_on_disk_needs_a_folder_to_write_to() -> None:
    def folders(**values: Any) -> list[str]:
        spec = installed(**values)["Deployment", "multiarch-webhook"]["spec"]["template"]["spec"]
        return [each["name"] for each in spec["volumes"] if "emptyDir" in each]

    assert folders() == []
    assert folders(configuration={"cache": {"file": "/var/cache/multiarch/images.sqlite"}}) == ["cache"]


def test_cert_manager_issues_the_certificate_and_needs_no_job() -> None:
    found = installed(certificates="cert-manager")
    assert not [kind for kind, _ in found if kind in ("Job", "CronJob", "Role", "Secret")]
    assert [name for kind, name in found if kind == "Issuer"] == [
        "multiarch-webhook-root",
        "multiarch-webhook-authority",
    ]
    webhook = found["MutatingWebhookConfiguration", "zz-multiarch-webhook"]["metadata"]
    assert webhook["annotations"] == {"cert-manager.io/inject-ca-from": "multiarch-webhook/multiarch-webhook"}
    keys = {name: each["spec"]["privateKey"] for (kind, name), each in found.items() if kind == "Certificate"}
    assert keys["multiarch-webhook-authority"]["rotationPolicy"] == "Never"
    assert keys["multiarch-webhook"]["rotationPolicy"] == "Always"
    own = installed(certificates="cert-manager", issuer={"name": "corporate"})
    assert not [kind for kind, _ in own if kind == "Issuer"]
    certificate = own["Certificate", "multiarch-webhook"]["spec"]
    assert certificate["issuerRef"] == {"name": "corporate", "kind": "ClusterIssuer"}
    assert certificate["dnsNames"][0] == "multiarch-webhook.multiarch-webhook.svc"
    assert "server auth" in certificate["usages"]


def test_the_namespaces_that_are_never_called() -> None:
    for each in installed(namespace="own", excludedNamespaces=["x"])[
        "MutatingWebhookConfiguration", "zz-multiarch-webhook"
    ]["webhooks"]:
        excluded = each["namespaceSelector"]["matchExpressions"][0]
        assert excluded == {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "own", "x"],
        }
        assert (each["failurePolicy"], each["timeoutSeconds"], each["reinvocationPolicy"]) == ("Ignore", 3, "IfNeeded")
        assert len(each["name"].split(".")) == 3
