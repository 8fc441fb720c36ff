"""The cluster component: which resources it declares, under which names, and what it says of them.

Names and order follow nodejs/eks/cluster/cluster.ts of pulumi/pulumi-eks, createCore and createCluster (snapshot
7bf0c1b, between v4.3.0 and 4.4.0); the resources come from the aws and kubernetes stand-ins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from multiarch.doctor.programs import BROUGHT_BY_EKS
from sandbox.providers import StandInError
from sandbox.providers.values import Value

Inputs = Mapping[str, Any]


class Cluster(pulumi.ComponentResource):
    """An EKS cluster without node groups. ``state`` holds the outputs under their wire names."""

    state: dict[str, Any]

    def __init__(self, name: str, inputs: Inputs, opts: pulumi.ResourceOptions | None) -> None:
        """Declare everything. Raises :class:`StandInError` for a combination that is not modelled."""
        super().__init__("eks:index:Cluster", name, None, opts)
        self._base, self._inputs = name, inputs
        _check(inputs)
        role = inputs["serviceRole"]
        self._cluster = self._eks_cluster(role)
        self._config = self._kubeconfig(None)
        kubernetes.Provider(
            f"{name}-eks-k8s",
            kubeconfig=self._kubeconfig(_profile(inputs)).apply(_json),
            opts=pulumi.ResourceOptions(parent=self, version=BROUGHT_BY_EKS["kubernetes"]),
        )
        self._access_entries()
        self.state = self._outputs()
        self.register_outputs(self.state)

    def _kubeconfig(self, profile: str | None) -> pulumi.Output[dict[str, Any]]:
        made = self._cluster
        known = pulumi.Output.all(made.name, made.endpoint, made.certificate_authority, made.arn)
        return known.apply(lambda it: kubeconfig(it[0], it[1], it[2]["data"], it[3].split(":")[3], profile))

    def _tags(self) -> Value:
        """Name first, then the cluster's tags, then the general ones, as the real component merges them."""
        maps = [self._inputs.get(key) or {} for key in ("clusterTags", "tags")]
        name = {"Name": f"{self._base}-eksCluster"}
        return pulumi.Output.all(*maps).apply(lambda found: {**name, **found[0], **found[1]})

    def _eks_cluster(self, role: Value) -> aws.eks.Cluster:
        given = self._inputs
        key, cidr = given.get("encryptionConfigKeyArn"), given.get("kubernetesServiceIpAddressRange")
        family = given.get("ipFamily")
        network: Value = {"serviceIpv4Cidr": cidr if family != "ipv6" else None, "ipFamily": family or "ipv4"}
        auto = _auto_mode(given)
        storage: Value = {"blockStorage": {"enabled": True}}
        if auto:
            network["elasticLoadBalancing"] = {"enabled": True}
        encryption: Value = {"provider": {"keyArn": key}, "resources": ["secrets"]}
        access: Value = {
            "authenticationMode": given["authenticationMode"],
            "bootstrapClusterCreatorAdminPermissions": True,
        }
        vpc: Value = {
            "subnetIds": given.get("privateSubnetIds"),
            **{
                name: given.get(name) for name in ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs")
            },
        }
        child = pulumi.ResourceOptions(
            parent=self,
            version=BROUGHT_BY_EKS["aws"],
            ignore_changes=["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"],
        )
        made: aws.eks.Cluster = aws.eks.Cluster(
            f"{self._base}-eksCluster",
            name=given.get("name"),
            role_arn=pulumi.Output.from_input(role).apply(lambda found: found.arn),
            kubernetes_network_config=network if cidr or family or auto else None,
            compute_config=auto,
            storage_config=storage if auto else None,
            bootstrap_self_managed_addons=not auto and given.get("bootstrapSelfManagedAddons", True),
            vpc_config=vpc,
            version=given.get("version"),
            enabled_cluster_log_types=given.get("enabledClusterLogTypes"),
            tags=self._tags(),
            encryption_config=encryption if key else None,
            access_config=access,
            deletion_protection=given.get("deletionProtection"),
            upgrade_policy=given.get("upgradePolicy"),
            opts=child,
        )
        return made

    def _access_entries(self) -> None:
        entries = self._inputs.get("accessEntries") or {}
        if not isinstance(entries, Mapping):
            raise StandInError("accessEntries must be a map that is known before the run; values inside may be outputs")
        child = pulumi.ResourceOptions(parent=self, depends_on=[self._cluster], version=BROUGHT_BY_EKS["aws"])
        for name in sorted(entries):
            given = _options(entries, name, ("principalArn", "tags", "accessPolicies", "kubernetesGroups"))
            entry = aws.eks.AccessEntry(
                f"{self._base}-{name}",
                cluster_name=self._cluster.name,
                principal_arn=given["principalArn"],
                kubernetes_groups=given.get("kubernetesGroups"),
                tags=given.get("tags"),
                opts=child,
            )
            policies = given.get("accessPolicies") or {}
            for policy in sorted(policies):
                association = _options(policies, policy, ("policyArn", "accessScope"))
                aws.eks.AccessPolicyAssociation(
                    f"{self._base}-{name}-{policy}",
                    cluster_name=self._cluster.name,
                    principal_arn=given["principalArn"],
                    policy_arn=association["policyArn"],
                    access_scope=association["accessScope"],
                    opts=pulumi.ResourceOptions(
                        parent=self, depends_on=[self._cluster, entry], version=BROUGHT_BY_EKS["aws"]
                    ),
                )

    def _outputs(self) -> dict[str, Value]:
        """Return the outputs that programs here use; the real component has more."""
        issuer = self._cluster.identities[0].oidcs[0].issuer
        return {
            "eksCluster": self._cluster,
            "kubeconfig": self._config,
            "kubeconfigJson": self._config.apply(_json),
            "oidcIssuer": issuer.apply(lambda url: url.removeprefix("https://")),
            "oidcProviderArn": "",
            "oidcProviderUrl": issuer,
        }


def kubeconfig(cluster: str, endpoint: str, authority: str, region: str, profile: str | None) -> dict[str, Any]:
    """Return a kubeconfig as a map, as generateKubeconfig does; ``authority`` is PEM in base64."""
    arguments = ["--region", region, "eks", "get-token", "--cluster-name", cluster, "--output", "json"]
    arguments += ["--profile", profile] if profile else []
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": arguments,
        "env": [{"name": "KUBERNETES_EXEC_INFO", "value": '{"apiVersion": "client.authentication.k8s.io/v1beta1"}'}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubernetes", "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
        "contexts": [{"name": "aws", "context": {"cluster": "kubernetes", "user": "aws"}}],
        "current-context": "aws",
        "users": [{"name": "aws", "user": {"exec": plugin}}],
    }


def _json(value: Value) -> str:
    return json.dumps(value)


def _profile(inputs: Inputs) -> str | None:
    """Return the profile in the component's own kubeconfig: that of the caller, unless options are given."""
    if "providerCredentialOpts" in inputs:
        name: str | None = inputs["providerCredentialOpts"].get("profileName")
        return name
    return os.environ.get("AWS_PROFILE") or pulumi.Config("aws").get("profile")


def _check(inputs: Inputs) -> None:
    if inputs.get("createOidcProvider"):
        # cert-thumprint.ts, after 60 s without an answer. In the sandbox there is no issuer.
        issuer = f"https://oidc.eks.{os.environ.get('AWS_REGION')}.amazonaws.com"
        raise StandInError(f"Cannot retrieve the certificate fingerprint at the issuer URL: {issuer}")
    for name in ("skipDefaultNodeGroup", "skipDefaultSecurityGroups", "serviceRole", "useDefaultVpcCni", "vpcId"):
        if not inputs.get(name):
            raise StandInError(f"the sandbox's eks stand-in needs {name}")
    if inputs.get("createInstanceRole"):
        raise StandInError("the sandbox's eks stand-in makes no instance role: omit createInstanceRole")
    for name in ("corednsAddonOptions", "kubeProxyAddonOptions"):
        if (inputs.get(name) or {}).get("enabled") is not False:
            raise StandInError(f"the sandbox's eks stand-in makes no add-ons: set enabled to false in {name}")
    if inputs.get("authenticationMode") != "API":
        raise StandInError(
            f"the sandbox's eks stand-in supports authenticationMode API only, not {inputs.get('authenticationMode')!r}"
        )
    if inputs.get("publicAccessCidrs") and inputs.get("endpointPublicAccess") is False:
        raise StandInError("publicAccessCidrs can only be set when endpointPublicAccess is true")


def _auto_mode(inputs: Inputs) -> Value:
    """Return the cluster's computeConfig with EKS Auto Mode, else None; the component's node role is not modelled."""
    given = _options(inputs, "autoMode", ("enabled", "createNodeRole", "computeConfig"))
    if not given.get("enabled"):
        return None
    if given.get("createNodeRole") is not False:
        raise StandInError("the sandbox's eks stand-in makes no node role: set createNodeRole to false in autoMode")
    return {"nodePools": ["general-purpose", "system"], **(given.get("computeConfig") or {}), "enabled": True}


def _options(inputs: Inputs, key: str, known: tuple[str, ...]) -> dict[str, Any]:
    """Return a nested input as a map, rejected when it holds what the component does not model."""
    value = inputs.get(key) or {}
    if not isinstance(value, Mapping):
        raise StandInError(f"{key} must be a map that is known before the run; values inside may be outputs")
    unknown = sorted(name for name, item in value.items() if item is not None and name not in known)
    if unknown:
        raise StandInError(f"the sandbox's eks stand-in does not model {', '.join(unknown)} in {key}")
    return {name: item for name, item in value.items() if item is not None}
