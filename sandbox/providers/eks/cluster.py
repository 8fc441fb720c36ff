"""The cluster component: which resources it declares, under which names, and what it says of them.

Names and order follow the real component of pulumi-eks 4; the resources come from the aws stand-in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from sandbox.providers import StandInError
from sandbox.providers.eks.kubeconfig import kubeconfig
from sandbox.providers.eks.security_groups import SecurityGroups
from sandbox.providers.values import Value

Inputs = Mapping[str, Any]

# The real component asks the issuer's server for its certificate; in the sandbox there is none.
_THUMBPRINT: Final = "9e99a48a9960b14926bb7f3b02e22da2b0ab7280"
_ADDON_OPTIONS: Final = (
    "enabled",
    "version",
    "configurationValues",
    "resolveConflictsOnCreate",
    "resolveConflictsOnUpdate",
)
_CNI_OPTIONS: Final = (
    "addonVersion",
    "configurationValues",
    "resolveConflictsOnCreate",
    "resolveConflictsOnUpdate",
    "serviceAccountRoleArn",
)


class ServiceRole(pulumi.ComponentResource):
    """A role for a service with managed policies attached."""

    def __init__(self, name: str, service: str, policies: list[str], tags: Value, opts: pulumi.ResourceOptions) -> None:
        """Declare the role and one attachment per policy."""
        super().__init__("eks:index:ServiceRole", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        statement = {
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Effect": "Allow",
            "Principal": {"Service": [service]},
        }
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        description = "Allows EKS to manage clusters on your behalf."
        self.role = aws.iam.Role(
            f"{name}-role", description=description, assume_role_policy=document, tags=tags, opts=child
        )
        partition = aws.get_partition_output(opts=pulumi.InvokeOptions(parent=self)).partition
        self.attachments = [
            aws.iam.RolePolicyAttachment(
                f"{name}-{_short_hash(policy)}",
                policy_arn=pulumi.Output.concat("arn:", partition, f":iam::aws:policy/{policy}"),
                role=self.role.name,
                opts=child,
            )
            for policy in policies
        ]
        self.register_outputs({})


class Cluster(pulumi.ComponentResource):
    """An EKS cluster without node groups. ``state`` holds the outputs under their wire names."""

    state: dict[str, Any]

    def __init__(self, name: str, inputs: Inputs, opts: pulumi.ResourceOptions | None) -> None:
        """Declare everything. Raises :class:`StandInError` for a combination that is not modelled."""
        super().__init__("eks:index:Cluster", name, None, opts)
        self._base, self._inputs = name, inputs
        self._child = pulumi.ResourceOptions(parent=self)
        _check(inputs)
        role, after = self._service_role()
        self._groups = SecurityGroups(name, inputs.get("vpcId"), self._child)
        self._group: aws.ec2.SecurityGroup | None = None
        if not inputs.get("skipDefaultSecurityGroups"):
            self._group = self._groups.cluster(self._tags("eksClusterSecurityGroup", "clusterSecurityGroupTags"))
        self._subnets = _subnets(inputs)
        self._cluster = self._eks_cluster(role, after)
        self._addon("kube-proxy", "kubeProxyAddonOptions", enabled=True)
        self._config = pulumi.Output.all(
            self._cluster.name, self._cluster.endpoint, self._cluster.certificate_authority, self._cluster.arn
        ).apply(lambda known: kubeconfig(known[0], known[1], known[2]["data"], known[3].split(":")[3]))
        self._k8s = kubernetes.Provider(f"{name}-eks-k8s", kubeconfig=self._config.apply(_json), opts=self._child)
        entries = self._access_entries()
        self._vpc_cni(entries)
        # Without nodes of its own the component leaves coredns out, unless it is asked for.
        self._addon("coredns", "corednsAddonOptions", enabled=False)
        self._oidc = self._oidc_provider() if inputs.get("createOidcProvider") else None
        self._nodes, self._ingress = self._node_group()
        self.state = self._outputs(role)
        self.register_outputs(self.state)

    def _service_role(self) -> tuple[Any, list[pulumi.Resource]]:
        if self._inputs.get("serviceRole") is not None:
            return self._inputs["serviceRole"], []
        made = ServiceRole(
            f"{self._base}-eksRole",
            "eks.amazonaws.com",
            ["AmazonEKSClusterPolicy"],
            self._inputs.get("tags"),
            self._child,
        )
        return made.role, [*made.attachments]

    def _tags(self, what: str, *more: str) -> Value:
        """Name first, then special tags, then the general ones, as the real component merges them."""
        maps = [self._inputs.get(key) or {} for key in (*more, "tags")]
        return pulumi.Output.all(*maps).apply(
            lambda found: {
                "Name": f"{self._base}-{what}",
                **{key: value for item in found for key, value in item.items()},
            }
        )

    def _eks_cluster(self, role: Value, after: list[pulumi.Resource]) -> aws.eks.Cluster:
        given = self._inputs
        key, cidr = given.get("encryptionConfigKeyArn"), given.get("kubernetesServiceIpAddressRange")
        network: Value = {"serviceIpv4Cidr": cidr, "ipFamily": given.get("ipFamily", "ipv4")}
        encryption: Value = {"provider": {"keyArn": key}, "resources": ["secrets"]}
        access: Value = {
            "authenticationMode": given["authenticationMode"],
            "bootstrapClusterCreatorAdminPermissions": True,
        }
        vpc: Value = {
            "securityGroupIds": [self._group.id] if self._group is not None else None,
            "subnetIds": self._subnets,
            **{
                name: given.get(name) for name in ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs")
            },
        }
        child = pulumi.ResourceOptions(
            parent=self,
            depends_on=after,
            ignore_changes=["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"],
        )
        made: aws.eks.Cluster = aws.eks.Cluster(
            f"{self._base}-eksCluster",
            name=given.get("name"),
            role_arn=pulumi.Output.from_input(role).apply(lambda found: found.arn),
            kubernetes_network_config=network if cidr or given.get("ipFamily") else None,
            bootstrap_self_managed_addons=given.get("bootstrapSelfManagedAddons", True),
            vpc_config=vpc,
            version=given.get("version"),
            enabled_cluster_log_types=given.get("enabledClusterLogTypes"),
            tags=self._tags("eksCluster", "clusterTags"),
            encryption_config=encryption if key else None,
            access_config=access,
            upgrade_policy=given.get("upgradePolicy"),
            deletion_protection=given.get("deletionProtection"),
            opts=child,
        )
        return made

    def _addon(self, addon: str, key: str, *, enabled: bool) -> None:
        options = _options(self._inputs, key, _ADDON_OPTIONS)
        if not options.get("enabled", enabled or bool(options.get("configurationValues"))):
            return
        self._declare_addon(
            addon,
            f"{self._base}-{addon}",
            {**options, "addonVersion": options.get("version")},
            self._child,
            preserve=True,
        )

    def _declare_addon(
        self, addon: str, name: str, options: Inputs, opts: pulumi.ResourceOptions, *, preserve: bool | None = None
    ) -> None:
        version = (
            options.get("addonVersion")
            or aws.eks.get_addon_version_output(
                addon_name=addon,
                kubernetes_version=self._cluster.version,
                most_recent=True,
                opts=pulumi.InvokeOptions(parent=self),
            ).version
        )
        values = options.get("configurationValues")
        aws.eks.Addon(
            name,
            cluster_name=self._cluster.name,
            addon_name=addon,
            addon_version=version,
            preserve=preserve,
            configuration_values=pulumi.Output.json_dumps(values, sort_keys=True) if values is not None else None,
            resolve_conflicts_on_create=options.get("resolveConflictsOnCreate", "OVERWRITE"),
            resolve_conflicts_on_update=options.get("resolveConflictsOnUpdate", "OVERWRITE"),
            service_account_role_arn=options.get("serviceAccountRoleArn"),
            tags=self._inputs.get("tags"),
            opts=opts,
        )

    def _access_entries(self) -> list[pulumi.Resource]:
        entries = self._inputs.get("accessEntries") or {}
        if not isinstance(entries, Mapping):
            raise StandInError("accessEntries must be a map that is known before the run; values inside may be outputs")
        made: list[pulumi.Resource] = []
        child = pulumi.ResourceOptions(parent=self, depends_on=[self._cluster])
        for name in sorted(entries):
            given = _options(
                entries, name, ("principalArn", "username", "type", "tags", "kubernetesGroups", "accessPolicies")
            )
            entry = aws.eks.AccessEntry(
                f"{self._base}-{name}",
                cluster_name=self._cluster.name,
                principal_arn=given["principalArn"],
                user_name=given.get("username"),
                kubernetes_groups=given.get("kubernetesGroups"),
                type=given.get("type"),
                tags=given.get("tags"),
                opts=child,
            )
            made.append(entry)
            policies = given.get("accessPolicies") or {}
            for policy in sorted(policies):
                association = _options(policies, policy, ("policyArn", "accessScope"))
                made.append(
                    aws.eks.AccessPolicyAssociation(
                        f"{self._base}-{name}-{policy}",
                        cluster_name=self._cluster.name,
                        principal_arn=given["principalArn"],
                        policy_arn=association["policyArn"],
                        access_scope=association["accessScope"],
                        opts=pulumi.ResourceOptions(parent=self, depends_on=[self._cluster, entry]),
                    )
                )
        return made

    def _vpc_cni(self, after: list[pulumi.Resource]) -> None:
        if self._inputs.get("useDefaultVpcCni"):
            return
        name = f"{self._base}-vpc-cni"
        holder = pulumi.ComponentResource(
            "eks:index:VpcCniAddon", name, None, pulumi.ResourceOptions(parent=self, depends_on=after)
        )
        self._declare_addon(
            "vpc-cni",
            name,
            _options(self._inputs, "vpcCniOptions", _CNI_OPTIONS),
            pulumi.ResourceOptions(parent=holder),
        )

    def _oidc_provider(self) -> aws.iam.OpenIdConnectProvider:
        return aws.iam.OpenIdConnectProvider(
            f"{self._base}-oidcProvider",
            client_id_lists=["sts.amazonaws.com"],
            url=self._cluster.identities[0].oidcs[0].issuer,
            thumbprint_lists=[_THUMBPRINT],
            opts=self._child,
        )

    def _node_group(self) -> tuple[aws.ec2.SecurityGroup | None, aws.ec2.SecurityGroupRule | None]:
        """Declare the security group of nodes, where there is one of the cluster's."""
        if self._group is None:
            return None, None
        owned = self._cluster.name.apply(lambda found: {f"kubernetes.io/cluster/{found}": "owned"})
        named = self._tags("nodeSecurityGroup", "nodeSecurityGroupTags")
        tags = pulumi.Output.all(owned, named).apply(lambda maps: {**maps[0], **maps[1]})
        return self._groups.nodes(self._group.id, tags)

    def _outputs(self, role: Value) -> dict[str, Value]:
        cluster = self._cluster
        issuer = cluster.identities[0].oidcs[0].issuer
        own_group = cluster.vpc_config.cluster_security_group_id
        provider = self._providers.get("aws")
        core = {
            "accessEntries": list((self._inputs.get("accessEntries") or {}).values()),
            "cluster": cluster,
            "clusterIamRole": role,
            "clusterSecurityGroup": self._group,
            "endpoint": cluster.endpoint,
            "instanceRoles": [],
            "kubeconfig": self._config,
            "nodeGroupOptions": {},
            "oidcProvider": self._oidc,
            "privateSubnetIds": self._inputs.get("privateSubnetIds"),
            "provider": self._k8s,
            "publicSubnetIds": self._inputs.get("publicSubnetIds"),
            "subnetIds": self._subnets,
            "tags": self._inputs.get("tags"),
            "vpcId": self._inputs.get("vpcId"),
        }
        return {
            "autoModeNodeRoleName": "",
            "awsProvider": provider,
            "clusterIngressRuleId": self._ingress.security_group_rule_id if self._ingress else "",
            "clusterSecurityGroup": self._group,
            "clusterSecurityGroupId": self._group.id if self._group is not None else own_group,
            "core": {key: value for key, value in core.items() if value is not None},
            "defaultNodeGroupAsgName": "",
            "eksCluster": cluster,
            "eksClusterIngressRule": self._ingress,
            "fargateProfileId": "",
            "fargateProfileStatus": "",
            "instanceRoles": [],
            "kubeconfig": self._config,
            "kubeconfigJson": self._config.apply(_json),
            "nodeSecurityGroup": self._nodes,
            "nodeSecurityGroupId": self._nodes.id if self._nodes else own_group,
            "oidcIssuer": issuer.apply(lambda url: url.removeprefix("https://")),
            "oidcProviderArn": self._oidc.arn if self._oidc else "",
            "oidcProviderUrl": issuer,
        }


def _short_hash(policy: str) -> str:
    """The real component names attachments by the start of a SHA-1 of the policy; it protects nothing."""
    return hashlib.sha1(f"arn:aws:iam::aws:policy/{policy}".encode(), usedforsecurity=False).hexdigest()[:8]


def _json(value: Value) -> str:
    return json.dumps(value)


def _check(inputs: Inputs) -> None:
    if not inputs.get("skipDefaultNodeGroup"):
        raise StandInError("the sandbox's eks stand-in makes no default node group: set skipDefaultNodeGroup")
    if inputs.get("createInstanceRole"):
        raise StandInError("the sandbox's eks stand-in makes no instance role: leave createInstanceRole out")
    if inputs.get("authenticationMode") != "API":
        raise StandInError(
            f"the sandbox's eks stand-in knows authenticationMode API alone, not {inputs.get('authenticationMode')!r}"
        )
    if inputs.get("subnetIds") is not None and (inputs.get("publicSubnetIds") or inputs.get("privateSubnetIds")):
        raise StandInError("subnetIds stands alone; publicSubnetIds and privateSubnetIds are the other way to say it")
    if inputs.get("publicAccessCidrs") and inputs.get("endpointPublicAccess") is False:
        raise StandInError("publicAccessCidrs can only be set when endpointPublicAccess is true")
    if inputs.get("vpcId") is None:
        raise StandInError("the sandbox's eks stand-in takes no default VPC: set vpcId and subnets")


def _subnets(inputs: Inputs) -> Value:
    if inputs.get("subnetIds") is not None:
        return inputs["subnetIds"]
    parts = [inputs.get("publicSubnetIds") or [], inputs.get("privateSubnetIds") or []]
    return pulumi.Output.all(*parts).apply(lambda found: [*found[0], *found[1]])


def _options(inputs: Inputs, key: str, known: tuple[str, ...]) -> dict[str, Any]:
    """A nested input as a map, refused when it holds what the component does not model."""
    value = inputs.get(key) or {}
    if not isinstance(value, Mapping):
        raise StandInError(f"{key} must be a map that is known before the run; values inside may be outputs")
    unknown = sorted(name for name, item in value.items() if item is not None and name not in known)
    if unknown:
        raise StandInError(f"the sandbox's eks stand-in does not model {', '.join(unknown)} in {key}")
    return {name: item for name, item in value.items() if item is not None}
