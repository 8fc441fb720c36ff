"""EKS add-ons, access entries with their policies, and pod identity associations.

Upstream: Amazon EKS API reference, CreateAddon, CreateAccessEntry, AssociateAccessPolicy, CreatePodIdentityAssociation.
"""

from __future__ import annotations

import json

from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow
from moto.eks.models import Cluster

from multiarch.facts.addons import AddOn, is_version
from multiarch.stack.addon_schemas import find_faults
from sandbox.aws.addon_table import ADD_ONS, get_schema, list_pod_identities
from sandbox.aws.eks_base import EksBase, Record, extras, in_use, invalid, not_found, rejected, short_hash, without_none
from sandbox.aws.facts import CLUSTER_VERSIONS, addon_versions

_OF_ASSOCIATIONS = ("roleArn", "targetRoleArn", "disableSessionTags", "policy")


class EksAccess(EksBase):
    """The parts of a cluster that moto's EKS lacks."""

    def create_addon(self) -> ActionResult:
        """Answer CreateAddon: ACTIVE at once; version and JSON configuration are checked."""
        cluster, params = self._cluster(), self.params
        name = params["addonName"]
        row = ADD_ONS.get(name)
        if row is None:
            raise not_found(f"Addon {name} not found")
        if name in extras(cluster).addons:
            raise in_use(f"Addon already exists: {name}")
        version = self._checked_addon(cluster, row, params)
        addon = {
            "addonName": name,
            "clusterName": cluster.name,
            "status": "ACTIVE",
            "health": {"issues": []},
            "addonVersion": version,
            "addonArn": self._arn("addon", cluster.name, name, short_hash(cluster.arn + name)),
            "createdAt": utcnow(),
            "tags": dict(params.get("tags") or {}),
            "podIdentityAssociations": [],
        }
        self._set_addon(cluster, addon, params)
        extras(cluster).addons[name] = addon
        return ActionResult({"addon": addon})

    def _checked_addon(self, cluster: Cluster, row: AddOn, params: Record) -> str:
        version = str(params.get("addonVersion") or addon_versions(row, cluster.version)[1])
        # The table has two versions; a stack pinned against AWS has another, and AWS's real versions are not known
        # here. So only the form is checked, and the minor if it is the cluster's.
        if not is_version(version) or (row.release is None and not version.startswith(f"v{cluster.version}.")):
            raise invalid(
                f"Addon version specified is not supported: {row.name} {version} with Kubernetes {cluster.version}"
            )
        if params.get("configurationValues"):
            try:
                values = json.loads(params["configurationValues"])
            except ValueError as error:
                raise invalid(f"ConfigurationValue is not in valid JSON format: {error}") from error
            schema = get_schema(row.name)
            if schema and (found := [message for _, message, _ in find_faults(schema, values)]):
                raise invalid(
                    f"ConfigurationValue provided in request is not supported: Json schema validation: {found}"
                )
        return version

    def _set_addon(self, cluster: Cluster, addon: Record, params: Record) -> None:
        """Replace role, configuration and pod identities when they are given; an empty string removes them."""
        addon["modifiedAt"] = utcnow()
        for key in ("serviceAccountRoleArn", "configurationValues"):
            if params.get(key) is not None:
                addon[key] = params[key] or None
        if params.get("podIdentityAssociations") is not None:
            for arn in addon["podIdentityAssociations"]:
                extras(cluster).pod_identities.pop(arn.rsplit("/", 1)[1], None)
            addon["podIdentityAssociations"] = [
                self._associate(
                    cluster, {"namespace": ADD_ONS[addon["addonName"]].namespace, **item}, owner=addon["addonArn"]
                )["associationArn"]
                for item in params["podIdentityAssociations"]
            ]

    def _addon(self) -> tuple[Cluster, Record]:
        cluster = self._cluster()
        addon = extras(cluster).addons.get(self.params["addonName"])
        if addon is None:
            raise not_found(f"No addon: {self.params['addonName']} found in cluster: {cluster.name}")
        return cluster, addon

    def describe_addon(self) -> ActionResult:
        """Answer DescribeAddon."""
        return ActionResult({"addon": self._addon()[1]})

    def list_addons(self) -> ActionResult:
        """Answer ListAddons, sorted."""
        return ActionResult({"addons": sorted(extras(self._cluster()).addons)})

    def update_addon(self) -> ActionResult:
        """Answer UpdateAddon."""
        cluster, addon = self._addon()
        row = ADD_ONS[addon["addonName"]]
        wanted = {"addonVersion": addon["addonVersion"], **without_none(self.params)}
        addon["addonVersion"] = self._checked_addon(cluster, row, wanted)
        self._set_addon(cluster, addon, self.params)
        return self._update("AddonUpdate", wanted)

    def delete_addon(self) -> ActionResult:
        """Answer DeleteAddon: its pod identity associations go with it."""
        cluster, addon = self._addon()
        for arn in addon["podIdentityAssociations"]:
            extras(cluster).pod_identities.pop(arn.rsplit("/", 1)[1], None)
        del extras(cluster).addons[addon["addonName"]]
        return ActionResult({"addon": {**addon, "status": "DELETING"}})

    def describe_addon_versions(self) -> ActionResult:
        """Answer DescribeAddonVersions from the table in facts: two versions of every add-on per minor."""
        wanted = self.params.get("kubernetesVersion")
        minors = [version for version in CLUSTER_VERSIONS if wanted in (None, version)]
        rows = [row for row in ADD_ONS.values() if self.params.get("addonName") in (None, row.name)]
        return ActionResult({"addons": [_addon_information(row, minors) for row in rows] if minors else []})

    def describe_addon_configuration(self) -> ActionResult:
        """Answer DescribeAddonConfiguration from the table of add-ons; the same for every version."""
        row = ADD_ONS.get(self.params["addonName"])
        if row is None:
            raise not_found(f"Addon {self.params['addonName']} not found")
        answer = {
            "addonName": row.name,
            "addonVersion": self.params["addonVersion"],
            "configurationSchema": json.dumps(get_schema(row.name) or {"type": "object"}),
            "podIdentityConfiguration": list_pod_identities(row),
        }
        return ActionResult(answer)

    def create_access_entry(self) -> ActionResult:
        """Answer CreateAccessEntry: the authentication mode must allow it."""
        cluster, params = self._cluster(), self.params
        if vars(cluster)["access_config"]["authenticationMode"] == "CONFIG_MAP":
            raise rejected(
                "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] "
                "to perform this operation."
            )
        arn, kind = params["principalArn"], params.get("type") or "STANDARD"
        if arn in extras(cluster).entries:
            raise in_use(f"The specified access entry resource is already in use on this cluster: {arn}")
        standard = kind == "STANDARD"
        entry = {
            "clusterName": cluster.name,
            "principalArn": arn,
            "kubernetesGroups": list(params.get("kubernetesGroups") or []) if standard else ["system:nodes"],
            "accessEntryArn": self._arn("access-entry", cluster.name, *arn.split(":", 5)[4:], short_hash(arn)),
            "createdAt": utcnow(),
            "modifiedAt": utcnow(),
            "tags": dict(params.get("tags") or {}),
            "username": params.get("username") or (arn if standard else "system:node:{{EC2PrivateDNSName}}"),
            "type": kind,
        }
        extras(cluster).entries[arn] = entry
        extras(cluster).policies[arn] = {}
        return ActionResult({"accessEntry": entry})

    def _entry(self) -> tuple[Cluster, Record]:
        cluster, arn = self._cluster(), self.params["principalArn"]
        entry = extras(cluster).entries.get(arn)
        if entry is None:
            raise not_found(f"The specified principalArn could not be found: {arn}")
        return cluster, entry

    def describe_access_entry(self) -> ActionResult:
        """Answer DescribeAccessEntry."""
        return ActionResult({"accessEntry": self._entry()[1]})

    def list_access_entries(self) -> ActionResult:
        """Answer ListAccessEntries, optionally those with one policy."""
        more, policy = extras(self._cluster()), self.params.get("associatedPolicyArn")
        return ActionResult(
            {"accessEntries": sorted(arn for arn in more.entries if policy is None or policy in more.policies[arn])}
        )

    def update_access_entry(self) -> ActionResult:
        """Answer UpdateAccessEntry: the groups; an omitted list stays, an empty one removes them."""
        entry = self._entry()[1]
        if "kubernetesGroups" in self.params:
            entry |= {"kubernetesGroups": list(self.params["kubernetesGroups"]), "modifiedAt": utcnow()}
        return ActionResult({"accessEntry": entry})

    def delete_access_entry(self) -> ActionResult:
        """Answer DeleteAccessEntry: its policies go with it."""
        cluster, entry = self._entry()
        del extras(cluster).entries[entry["principalArn"]]
        del extras(cluster).policies[entry["principalArn"]]
        return EmptyResult()

    def associate_access_policy(self) -> ActionResult:
        """Answer AssociateAccessPolicy: a second call changes the scope."""
        cluster, entry = self._entry()
        policy, scope = self.params["policyArn"], self.params["accessScope"]
        known = extras(cluster).policies[entry["principalArn"]]
        associated = {"policyArn": policy, "accessScope": {"namespaces": [], **scope}, "modifiedAt": utcnow()}
        known[policy] = {"associatedAt": utcnow(), **known.get(policy, {}), **associated}
        answer = {
            "clusterName": cluster.name,
            "principalArn": entry["principalArn"],
            "associatedAccessPolicy": known[policy],
        }
        return ActionResult(answer)

    def disassociate_access_policy(self) -> ActionResult:
        """Answer DisassociateAccessPolicy."""
        cluster, entry = self._entry()
        if extras(cluster).policies[entry["principalArn"]].pop(self.params["policyArn"], None) is None:
            raise not_found(f"The specified policyArn could not be found: {self.params['policyArn']}")
        return EmptyResult()

    def list_associated_access_policies(self) -> ActionResult:
        """Answer ListAssociatedAccessPolicies, sorted by policy."""
        cluster, entry = self._entry()
        policies = extras(cluster).policies[entry["principalArn"]]
        rows = [policies[arn] for arn in sorted(policies)]
        return ActionResult(
            {"clusterName": cluster.name, "principalArn": entry["principalArn"], "associatedAccessPolicies": rows}
        )

    def create_pod_identity_association(self) -> ActionResult:
        """Answer CreatePodIdentityAssociation: one per namespace and service account."""
        return ActionResult({"association": self._associate(self._cluster(), self.params)})

    def _associate(self, cluster: Cluster, wanted: Record, owner: str | None = None) -> Record:
        key = (wanted["namespace"], wanted["serviceAccount"])
        known = extras(cluster).pod_identities
        if any((pod["namespace"], pod["serviceAccount"]) == key for pod in known.values()):
            raise in_use(f"Association already exists: {key[0]}/{key[1]}")
        identifier = "a-" + short_hash(f"{cluster.arn}/{key}", 17)
        known[identifier] = without_none(
            {
                **{name: wanted.get(name) for name in ("namespace", "serviceAccount", *_OF_ASSOCIATIONS)},
                "clusterName": cluster.name,
                "associationArn": self._arn("podidentityassociation", cluster.name, identifier),
                "associationId": identifier,
                "tags": dict(wanted.get("tags") or {}),
                "createdAt": utcnow(),
                "modifiedAt": utcnow(),
                "ownerArn": owner,
            }
        )
        return known[identifier]

    def _association(self) -> tuple[Cluster, Record]:
        cluster = self._cluster()
        pod = extras(cluster).pod_identities.get(self.params["associationId"])
        if pod is None:
            raise not_found(f"Association not found: {self.params['associationId']}")
        return cluster, pod

    def describe_pod_identity_association(self) -> ActionResult:
        """Answer DescribePodIdentityAssociation."""
        return ActionResult({"association": self._association()[1]})

    def update_pod_identity_association(self) -> ActionResult:
        """Answer UpdatePodIdentityAssociation: the roles, the session tags and the policy."""
        pod = self._association()[1]
        pod |= without_none({name: self.params.get(name) for name in _OF_ASSOCIATIONS}) | {"modifiedAt": utcnow()}
        return ActionResult({"association": pod})

    def delete_pod_identity_association(self) -> ActionResult:
        """Answer DeletePodIdentityAssociation."""
        cluster, pod = self._association()
        return ActionResult({"association": extras(cluster).pod_identities.pop(pod["associationId"])})

    def list_pod_identity_associations(self) -> ActionResult:
        """Answer ListPodIdentityAssociations by namespace and service account."""
        rows = [
            pod
            for pod in extras(self._cluster()).pod_identities.values()
            if self.params.get("namespace") in (None, pod["namespace"])
            and self.params.get("serviceAccount") in (None, pod["serviceAccount"])
        ]
        return ActionResult({"associations": sorted(rows, key=lambda pod: (pod["namespace"], pod["serviceAccount"]))})


def _addon_information(row: AddOn, minors: list[str]) -> Record:
    versions: dict[str, list[Record]] = {}
    for minor in minors:
        newest, default = addon_versions(row, minor)
        for version in dict.fromkeys((newest, default)):
            fit = {"clusterVersion": minor, "defaultVersion": version == default}
            versions.setdefault(version, []).append(fit)
    return {
        "addonName": row.name,
        "type": row.kind,
        "defaultNamespace": row.namespace,
        "addonVersions": [
            {
                "addonVersion": version,
                "architecture": ["amd64", "arm64"],
                "compatibilities": fits,
                "requiresIamPermissions": row.service_account is not None,
            }
            for version, fits in versions.items()
        ],
    }
