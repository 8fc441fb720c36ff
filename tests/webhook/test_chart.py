"""The Helm chart: complete objects with few rights, values that reach them, and invalid values that are rejected."""

from __future__ import annotations

import base64
import functools
import json
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from pydantic import ValidationError

from multiarch.schema.webhook import WebhookConfiguration
from multiarch.schema.webhook_faults import find_faults
from multiarch.webhook.policy import CONDITIONS
from sandbox.cluster import helm
from sandbox.cluster.kube import Object
from tools.generate import chart
from tools.generate.chart import CHART, TARGET, generate_manifests

IMAGE = "registry.example.com/multiarch@sha256:" + 64 * "a"
NAME, REGISTRATION = "multiarch-webhook", "zz-multiarch-webhook"
Objects = dict[tuple[str, str], Object]


def test_generated_files_are_up_to_date() -> None:
    for path, text in chart.files().items():
        assert path.read_text(encoding="utf-8") == text, "run make generate"


@pytest.mark.tools
def test_the_shipped_manifests_are_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == generate_manifests(), "run make generate"


@functools.cache
def rendered(values: str, namespace: str) -> Objects:
    found = helm.render_chart(helm.WEBHOOK, json.loads(values), namespace=namespace)
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(by_name) == len(found)
    return by_name


def installed(namespace: str = NAME, **values: Any) -> Objects:
    """The objects of an installation with these values, by kind and name."""
    return rendered(json.dumps({"image": IMAGE, **values}), namespace)


def deployment(**values: Any) -> Object:
    found: Object = installed(**values)["Deployment", NAME]["spec"]
    return found


def pod_spec(**values: Any) -> Object:
    found: Object = deployment(**values)["template"]["spec"]
    return found


def webhooks(**values: Any) -> dict[str, Object]:
    """The entries of the registration by the first part of their names."""
    return {
        each["name"].partition(".")[0]: each
        for each in installed(**values)["MutatingWebhookConfiguration", REGISTRATION]["webhooks"]
    }


@pytest.mark.tools
class TestObjects:
    def test_all_kinds_are_there(self) -> None:
        assert sorted(kind for kind, _ in installed()) == [
            *("ConfigMap", "Deployment", "HorizontalPodAutoscaler", "MutatingWebhookConfiguration", "NetworkPolicy"),
            *("PodDisruptionBudget", "Secret", "Service", "ServiceAccount"),
        ]  # fmt: skip

    def test_the_server_has_no_rights_and_no_token(self) -> None:
        assert pod_spec()["automountServiceAccountToken"] is False

    def test_pull_secrets_are_read_by_name_only(self) -> None:
        names = ["team-a/two", "team-b/x", "team-a/one", "team-a/two"]
        settings = {"registries": {"pullSecrets": names}}
        found = helm.render_chart(CHART, {"image": IMAGE, "configuration": settings}, namespace=NAME)
        roles = [each for each in found if each["kind"] == "Role"]
        assert [(each["metadata"]["namespace"], each["rules"][0]["resourceNames"]) for each in roles] == [
            ("team-a", ["one", "two"]),
            ("team-b", ["x"]),
        ]
        assert all(each["rules"][0]["verbs"] == ["get"] for each in roles)
        (server,) = (each for each in found if each["kind"] == "Deployment")
        assert server["spec"]["template"]["spec"]["automountServiceAccountToken"] is True

    def test_a_changed_configuration_starts_new_pods(self) -> None:
        def annotations(**values: Any) -> Object:
            found: Object = deployment(**values)["template"]["metadata"]["annotations"]
            return found

        assert annotations() == annotations(replicas=1)
        assert annotations() != annotations(configuration={"mode": "observe"})

    def test_pods_run_on_both_architectures(self) -> None:
        more = {"key": "infra", "operator": "Exists"}
        spec = pod_spec(
            configuration={"taints": ["arch=arm64:NoSchedule", "graviton:NoExecute"]},
            tolerations=[more],
            nodeSelector={"disk": "ssd"},
        )
        assert "affinity" not in spec
        assert spec["nodeSelector"] == {"kubernetes.io/os": "linux", "disk": "ssd"}
        assert spec["tolerations"] == [
            {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
            {"key": "graviton", "operator": "Equal", "effect": "NoExecute"},
            more,
        ]

    def test_no_autoscaler_where_the_maximum_of_replicas_is_their_minimum(self) -> None:
        assert ("HorizontalPodAutoscaler", NAME) not in installed(maxReplicas=2)
        assert deployment(maxReplicas=2)["replicas"] == 2
        assert "replicas" not in deployment()

    def test_the_memory_follows_the_cache(self) -> None:
        def memory(**values: Any) -> str:
            return str(pod_spec(**values)["containers"][0]["resources"]["limits"]["memory"])

        assert memory() == "352Mi"
        assert memory(configuration={"cache": {"memoryMib": 256}}) == "640Mi"
        assert memory(configuration={"cache": {"memoryMib": 333}}) == "755Mi"
        assert memory(resources={"limits": {"memory": "1Gi"}}) == "1Gi"
        assert memory(resources={"requests": {"memory": "400Mi"}}) == "400Mi"
        both = {"requests": {"cpu": "1", "memory": "400Mi"}, "limits": {"cpu": "2", "memory": "400Mi"}}
        assert pod_spec(resources=both)["containers"][0]["resources"] == both

    def test_the_network_policy_allows_what_the_configuration_names(self) -> None:
        registries = {
            "allowed": ["docker.io", "registry.local:5000", "r:*"],
            "plainHttp": ["plain.local"],
            "ecr": False,
        }
        extra = {"ports": [{"port": 9000}]}
        found = installed(configuration={"registries": registries}, networkPolicy={"extraEgress": [extra]})
        egress = found["NetworkPolicy", NAME]["spec"]["egress"]
        assert [[port["port"] for port in rule["ports"]] for rule in egress] == [[53, 53], [443, 5000, 80], [9000]]
        assert not [kind for kind, _ in installed(networkPolicy={"enabled": False}) if kind == "NetworkPolicy"]

    def test_the_usual_values_reach_the_pods(self) -> None:
        volume, mount = {"name": "ca", "configMap": {"name": "ca"}}, {"name": "ca", "mountPath": "/etc/ca"}
        affinity: Object = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
        template = deployment(
            revisionHistoryLimit=0,
            podLabels={"team": "platform", "app.kubernetes.io/name": "other"},
            podAnnotations={"linkerd.io/inject": "disabled"},
            extraEnv=[{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
            imagePullSecrets=[{"name": "registry"}],
            imagePullPolicy="Always",
            logLevel="debug",
            affinity=affinity,
            extraVolumes=[volume],
            extraVolumeMounts=[mount],
        )
        spec, metadata = template["template"]["spec"], template["template"]["metadata"]
        (server,) = spec["containers"]
        assert template["revisionHistoryLimit"] == 0
        assert metadata["labels"].items() >= {"team": "platform", **template["selector"]["matchLabels"]}.items()
        assert set(metadata["annotations"]) == {"linkerd.io/inject", "checksum/configuration"}
        assert (spec["affinity"], spec["imagePullSecrets"]) == (affinity, [{"name": "registry"}])
        assert (server["imagePullPolicy"], server["args"][-1]) == ("Always", "--log-level=debug")
        assert server["env"] == [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]
        assert volume in spec["volumes"]
        assert mount in server["volumeMounts"]

    def test_all_objects_have_the_common_labels_and_no_selector_has(self) -> None:
        found = installed(commonLabels={"team": "platform"}, serviceMonitor={"enabled": True, "labels": {"team": "p"}})
        labels = {key: each["metadata"]["labels"]["team"] for key, each in found.items()}
        assert labels.pop(("ServiceMonitor", NAME)) == "p"
        assert set(labels.values()) == {"platform"}
        assert "team" not in found["Deployment", NAME]["spec"]["selector"]["matchLabels"]
        assert "team" not in found["Service", NAME]["spec"]["selector"]

    def test_the_network_of_the_nodes_and_other_ports(self) -> None:
        source = {"ipBlock": {"cidr": "10.0.0.0/16"}}
        found = installed(hostNetwork=True, securePort=10260, metricsPort=9080, networkPolicy={"ingressFrom": [source]})
        server = found["Deployment", NAME]["spec"]
        spec = server["template"]["spec"]
        assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
        assert server["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
        assert [each["containerPort"] for each in spec["containers"][0]["ports"]] == [10260, 9080]
        assert {"--port=10260", "--metrics-port=9080"} <= set(spec["containers"][0]["args"])
        reviews, metrics = found["NetworkPolicy", NAME]["spec"]["ingress"]
        assert (reviews["ports"][0]["port"], reviews["from"]) == (10260, [source])
        assert metrics["ports"][0]["port"] == 9080
        assert "from" not in installed()["NetworkPolicy", NAME]["spec"]["ingress"][0]


def data_of(found: Objects) -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in found["Secret", f"{NAME}-certificate"]["data"].items()}


@pytest.mark.tools
class TestCertificates:
    def test_helm_issues_one_for_ten_years_that_the_api_server_trusts(self) -> None:
        data = data_of(installed())
        leaf, authority = (x509.load_pem_x509_certificate(data[name]) for name in ("tls.crt", "ca.crt"))
        leaf.verify_directly_issued_by(authority)
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        host = f"{NAME}.{NAME}.svc"
        assert names.get_values_for_type(x509.DNSName) == [host, f"{host}.cluster.local"]
        for each in (leaf, authority):
            assert each.not_valid_after_utc > datetime.now(UTC) + timedelta(days=3640)
        bundles = {base64.b64decode(each["clientConfig"]["caBundle"]) for each in webhooks().values()}
        assert bundles == {data["ca.crt"]}
        assert len(webhooks()) == 6

    def test_cert_manager_issues_the_certificate(self) -> None:
        found = installed(certificates="cert-manager")
        assert ("Secret", f"{NAME}-certificate") not in found
        assert [name for kind, name in found if kind == "Issuer"] == [f"{NAME}-root", f"{NAME}-authority"]
        for mounted, secret in ((installed(), f"{NAME}-certificate"), (found, f"{NAME}-cert-manager")):
            volumes = mounted["Deployment", NAME]["spec"]["template"]["spec"]["volumes"]
            assert [each["secret"]["secretName"] for each in volumes if each["name"] == "certificate"] == [secret]
        registration = found["MutatingWebhookConfiguration", REGISTRATION]
        assert registration["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": f"{NAME}/{NAME}"}
        assert not [each for each in registration["webhooks"] if "caBundle" in each["clientConfig"]]
        keys = {name: each["spec"]["privateKey"] for (kind, name), each in found.items() if kind == "Certificate"}
        assert keys[f"{NAME}-authority"]["rotationPolicy"] == "Never"
        assert keys[NAME]["rotationPolicy"] == "Always"
        own = installed(certificates="cert-manager", issuer={"name": "corporate"})
        assert not [kind for kind, _ in own if kind == "Issuer"]
        certificate = own["Certificate", NAME]["spec"]
        assert certificate["issuerRef"] == {"name": "corporate", "kind": "ClusterIssuer"}
        assert certificate["dnsNames"][0] == f"{NAME}.{NAME}.svc"
        assert "server auth" in certificate["usages"]


def conditions(entry: str, **configuration: Any) -> dict[str, str]:
    rows = webhooks(configuration=configuration)[entry]["matchConditions"]
    return {row["name"]: row["expression"] for row in rows}


@pytest.mark.tools
class TestRegistration:
    def test_some_namespaces_are_never_called_for(self) -> None:
        found = installed("own", excludedNamespaces=["x", "kube-system"])
        for each in found["MutatingWebhookConfiguration", REGISTRATION]["webhooks"]:
            excluded = each["namespaceSelector"]["matchExpressions"][0]
            assert (excluded["key"], excluded["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
            assert excluded["values"] == ["kube-system", "own", "x"]
            settings = (each["failurePolicy"], each["timeoutSeconds"], each["reinvocationPolicy"])
            assert settings == ("Ignore", 3, "IfNeeded")
            assert each["clientConfig"]["service"]["namespace"] == "own"
            assert len(each["name"].split(".")) == 3

    def test_its_conditions_are_those_of_the_policy_in_place_of_the_webhook(self) -> None:
        assert conditions("prefer") == CONDITIONS
        assert conditions("default").items() > CONDITIONS.items()

    def test_a_pod_that_tolerates_all_taints_is_spared_where_nothing_else_is_added(self) -> None:
        spared = {entry for entry in webhooks() if "not-tolerant" in conditions(entry)}
        assert spared == {"default", "tolerate", "observe"}
        spared = {entry for entry in webhooks() if "not-tolerant" in conditions(entry, mode="prefer")}
        assert spared == {"tolerate"}
        two = conditions("default", taints=["a/b=c:NoExecute", "graviton:NoSchedule"])["not-tolerant"]
        assert two.count("tolerations.exists") == 2
        assert all(word in two for word in ('t.key == "a/b"', '== "c")', '["", "NoExecute"]', 't.key == "graviton"'))

    def test_the_tainted_architecture_is_arm64_unless_amd64_is_required_alone(self) -> None:
        assert '"arm64"' in conditions("default", architectures=["arm64"])["not-excluded"]
        assert '"arm64"' not in conditions("default", architectures=["amd64"])["not-excluded"]


@pytest.mark.tools
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"image": ""}, "does not match pattern"),
        ({"configuration": {"events": True}}, "additional properties 'events' not allowed"),
        ({"configuration": {"mode": "pin", "architectures": ["arm64"]}}, "mode pin needs both architectures"),
        ({"configuration": {"architectures": ["arm64", "arm64"]}}, "items at 0 and 1 are equal"),
        ({"configuration": {"taints": [f"{'a' * 254}/b:NoSchedule"]}}, "has more than 253 characters"),
        ({"configuration": {"deadlineSeconds": 3}}, "deadlineSeconds': maximum: got 3, want 2.5"),
        ({"resources": {"limits": {"memory": "200Mi"}}}, "resources.limits.memory must be at least 352Mi"),
        (
            {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "512Mi"}}},
            "resources.requests.memory must be at most resources.limits.memory",
        ),
        ({"issuer": {"name": "y"}}, "issuer needs certificates: cert-manager"),
    ],
)
def test_invalid_values_are_rejected(values: Object, message: str) -> None:
    done = helm.run_helm("template", str(CHART), values={"image": IMAGE, **values})
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.tools
def test_networks_with_host_bits_are_rejected_as_the_server_does() -> None:
    ips = ("10.0.0.0", "10.1.2.3", "10.1.2.128", "::", "::1", "fd00::", "fd00::2:0", "1:2:3:4:5:6:7:8", "::5:6:7:8000")
    lengths = (0, 8, 9, 15, 16, 24, 25, 31, 32, 64, 113, 127, 128)
    written = [*ips, *(f"{ip}/{length}" for ip in ips for length in lengths if ":" in ip or length <= 32)]
    faulty = {
        name
        for name in written
        if [*find_faults(WebhookConfiguration.model_validate({"registries": {"allowedNetworks": [name]}}))]
    }
    assert 40 < len(faulty) < len(written) - 40

    def render(names: list[str]) -> subprocess.CompletedProcess[str]:
        values = {"image": IMAGE, "configuration": {"registries": {"allowedNetworks": names}}}
        return helm.run_helm("template", str(CHART), values=values)

    assert render([name for name in written if name not in faulty]).returncode == 0
    for name in sorted(faulty)[::4]:
        assert f"{name} has host bits set" in render([name]).stderr


_SCHEMA = json.loads((CHART / "values.schema.json").read_text())
_ENTRIES = {
    "allowed": st.sampled_from(
        ["docker.io", "*.dkr.ecr.*.amazonaws.com", "r:*", "[fd00::1]:5000", "https://x", "a/b", ""]
    ),
    "plainHttp": st.sampled_from(["registry:5000", "registry", "http://r", "r:", "r:*", "[::1]:80"]),
    "pullSecrets": st.sampled_from(["team-a/registry", "a.b/c", "a", "a/b/c", "A/b", "a/B"]),
    "allowedNetworks": st.ip_addresses().map(str)
    | st.builds("{}/{}".format, st.ip_addresses(), st.integers(0, 129))
    | st.sampled_from(
        ["10.0.0.0/8", "::/0", "10.0.0.0/255.0.0.0", "010.0.0.0/8", "1:2/64", "fd00::1::/8", "10.0/8", ""]
    ),
}
_TAINTS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["arch", "a/b", "A.b/c", "a-/b", "-a", "a_b", "x" * 63, "x" * 64, "a..b/c", ""]),
    st.sampled_from(["", "=", "=arm64", "=a b", "=-", "=" + "x" * 64, "=a=b"]),
    st.sampled_from([":NoSchedule", ":NoExecute", ":NO_SCHEDULE", "", ":PreferNoSchedule", ":noschedule"]),
)


@given(
    taint=_TAINTS,
    entry=st.sampled_from(sorted(_ENTRIES)).flatmap(lambda key: st.tuples(st.just(key), _ENTRIES[key])),
)
def test_the_schema_takes_what_the_server_takes(taint: str, entry: tuple[str, str]) -> None:
    """But for host bits and long prefixes, which the chart itself rejects."""
    written = {"taints": [taint], "registries": {entry[0]: [entry[1]]}}
    try:
        faults = [fault.message for _, fault in find_faults(WebhookConfiguration.model_validate(written))]
    except ValidationError as error:
        faults = [str(error)]
    valid = Draft7Validator(_SCHEMA).is_valid({"image": IMAGE, "configuration": written})
    assert valid == (not [each for each in faults if "has host bits set" not in each]), faults


@pytest.mark.tools
def test_lint_finds_nothing() -> None:
    linted = helm.run_helm("lint", "--strict", str(CHART), values={"image": IMAGE})
    assert linted.returncode == 0, linted.stdout
