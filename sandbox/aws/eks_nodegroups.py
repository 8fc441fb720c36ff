"""Managed node groups with real resources in moto: a launch template, an Auto Scaling Group, instances.

Upstream: Amazon EKS API reference, CreateNodegroup, UpdateNodegroupConfig, UpdateNodegroupVersion; EKS user guide,
"Customize managed nodes with launch templates": "You must create a new node group to switch between specifying an AMI
ID in a launch template and not specifying an AMI ID"; without a release an update takes "the latest available AMI
version". The messages are the sandbox's own words.
"""

from __future__ import annotations

from typing import Any

from moto.autoscaling.models import AutoScalingBackend, autoscaling_backends
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models.launch_templates import LaunchTemplateVersion
from moto.eks.models import Cluster, Nodegroup

from sandbox.aws import faults
from sandbox.aws import nodegroup_checks as checks
from sandbox.aws.eks_base import EksBase, Record, extras, in_use, invalid
from sandbox.aws.facts import AMI_TYPES, DEFAULT_AMI_TYPE
from sandbox.aws.images import ensure_image

_SPOT = {
    "OnDemandBaseCapacity": 0,
    "OnDemandPercentageAboveBaseCapacity": 0,
    "SpotAllocationStrategy": "price-capacity-optimized",
}
_ON_DEMAND = {
    "OnDemandBaseCapacity": 0,
    "OnDemandPercentageAboveBaseCapacity": 100,
    "OnDemandAllocationStrategy": "prioritized",
}


class EksNodegroups(EksBase):
    """Node group operations. A new template or release replaces all instances at once; nothing drains."""

    @property
    def autoscaling(self) -> AutoScalingBackend:
        """Moto's Auto Scaling of the request's account and region."""
        return autoscaling_backends[self.current_account][self.region]

    def create_nodegroup(self) -> ActionResult:
        """Answer CreateNodegroup: with EKS's checks; ACTIVE at once, with running instances."""
        cluster, params = self._cluster(), self.params
        if params["nodegroupName"] in cluster.nodegroups:
            raise in_use(
                f"NodeGroup already exists with name {params['nodegroupName']} and cluster name {cluster.name}"
            )
        template = self._template(params.get("launchTemplate"))
        data = template.data if template else {}
        checks.check_names_and_sizes(params)
        custom = checks.check_template(params, data)
        version = checks.checked_version(params.get("version"), cluster.version)
        types = params.get("instanceTypes") or ([data["InstanceType"]] if data.get("InstanceType") else ["t3.medium"])
        ami_type = "CUSTOM" if custom else params.get("amiType") or DEFAULT_AMI_TYPE
        checks.check_architecture(ami_type, types, version, self.ec2.amis.get(data.get("ImageId", "")))
        release = data["ImageId"] if custom else checks.checked_release(ami_type, version, params.get("releaseVersion"))
        group = self.eks_backend.create_nodegroup(
            cluster_name=cluster.name,
            node_role=params["nodeRole"],
            nodegroup_name=params["nodegroupName"],
            subnets=list(params["subnets"]),
            scaling_config=checks.scaling(params.get("scalingConfig") or {}),
            disk_size=params.get("diskSize"),
            instance_types=list(types),
            ami_type=ami_type,
            remote_access=None,
            labels=dict(params.get("labels") or {}),
            taints=[dict(taint) for taint in params.get("taints") or []],
            tags=dict(params.get("tags") or {}),
            client_request_token=params.get("clientRequestToken"),
            launch_template=_reference(template),
            capacity_type=params.get("capacityType"),
            version=version,
            release_version=release,
        )
        group.update_config = params.get("updateConfig") or {"maxUnavailable": 1}
        group.node_repair_config = params.get("nodeRepairConfig") or {"enabled": False}
        # moto invents an SSH key for groups without a launch template.
        vars(group)["remote_access"] = None
        if template:
            _hide_template_fields(group, own_instance_type=bool(data.get("InstanceType")))
        self._start(cluster, group, data)
        self._fail(group)
        return ActionResult({"nodegroup": group})

    def _fail(self, group: Nodegroup) -> None:
        """End as a switch says, with the issue of DescribeNodegroup's health."""
        if faults.fails_group(group.nodegroup_name):
            group.status = "CREATE_FAILED"
            said = "Instances failed to join the kubernetes cluster"
            issue = {"code": "NodeCreationFailure", "message": said, "resourceIds": [self._asg_name(group)]}
            vars(group)["health"] = {"issues": [issue]}

    def _template(self, reference: Record | None) -> LaunchTemplateVersion | None:
        if not reference:
            return None
        if bool(reference.get("id")) == bool(reference.get("name")):
            raise invalid("launchTemplate takes exactly one of id and name")
        ids = [reference["id"]] if reference.get("id") else None
        names = [reference["name"]] if reference.get("name") else None
        templates = self.ec2.describe_launch_templates(template_names=names, template_ids=ids)
        return templates[0].get_version(reference.get("version") or "$Default")

    def _start(self, cluster: Cluster, group: Nodegroup, data: Record) -> None:
        own = self.ec2.create_launch_template(
            name=f"eks-{group.uuid}",
            description="",
            template_data=self._template_data(cluster, group, data),
            tag_spec={"launch-template": _owned(group)},
        )
        extras(cluster).templates[group.nodegroup_name] = own.id
        name = f"eks-{group.nodegroup_name}-{group.uuid}"
        tags = {
            **_owned(group),
            f"kubernetes.io/cluster/{cluster.name}": "owned",
            "k8s.io/cluster-autoscaler/enabled": "true",
            f"k8s.io/cluster-autoscaler/{cluster.name}": "owned",
        }
        self.autoscaling.create_auto_scaling_group(
            name=name,
            availability_zones=[],
            desired_capacity=group.scaling_config["desiredSize"],
            max_size=group.scaling_config["maxSize"],
            min_size=group.scaling_config["minSize"],
            launch_config_name="",
            launch_template={},
            vpc_zone_identifier=",".join(group.subnets),
            default_cooldown=300,
            health_check_period=15,
            health_check_type="EC2",
            load_balancers=[],
            target_group_arns=[],
            placement_group=None,
            termination_policies=["AllocationStrategy", "OldestLaunchTemplate", "OldestInstance"],
            tags=[{"Key": key, "Value": tags[key], "PropagateAtLaunch": True} for key in sorted(tags)],  # type: ignore[dict-item]
            capacity_rebalance=group.capacity_type == "SPOT",
            mixed_instances_policy=_mixed(group, own.id, 1),
        )
        group.resources = {"autoScalingGroups": [{"name": name}]}

    def _template_data(self, cluster: Cluster, group: Nodegroup, data: Record) -> Record:
        """EKS's own launch template: the team's, with instance type, image, tags and security group filled in."""
        merged = dict(data)
        types = vars(group).get("sandbox_instance_types") or group.instance_types
        merged["InstanceType"] = types[0]
        if group.ami_type != "CUSTOM":
            row = AMI_TYPES[group.ami_type]
            merged["ImageId"] = ensure_image(self.ec2, row, group.version, group.release_version)
        if not merged.get("SecurityGroupIds") and not merged.get("NetworkInterfaces"):
            merged["SecurityGroupIds"] = [cluster.resources_vpc_config["clusterSecurityGroupId"]]
        specs = [spec for spec in merged.get("TagSpecifications", []) if spec.get("ResourceType") != "instance"]
        own = {
            tag["Key"]: tag["Value"]
            for spec in merged.get("TagSpecifications", [])
            if spec.get("ResourceType") == "instance"
            for tag in spec["Tags"]
        }
        own.update(_owned(group))
        rows = [{"Key": key, "Value": own[key]} for key in sorted(own)]
        merged["TagSpecifications"] = [*specs, {"ResourceType": "instance", "Tags": rows}]
        return merged

    def update_nodegroup_config(self) -> ActionResult:
        """Answer UpdateNodegroupConfig: moto's bookkeeping, plus the checks and the Auto Scaling Group's sizes."""
        params, cluster = self.params, self._cluster()
        group = self.eks_backend.describe_nodegroup(cluster.name, params["nodegroupName"])
        if params.get("scalingConfig"):
            checks.scaling({**group.scaling_config, **params["scalingConfig"]})
        super().update_nodegroup_config()
        asg = self.autoscaling.autoscaling_groups[self._asg_name(group)]
        if params.get("scalingConfig"):
            sizes = group.scaling_config
            asg.min_size, asg.max_size = sizes["minSize"], sizes["maxSize"]
            asg.set_desired_capacity(sizes["desiredSize"])
        return self._update("ConfigUpdate", params)

    def update_nodegroup_version(self) -> ActionResult:
        """Replace all instances by a new template version, Kubernetes version or release (UpdateNodegroupVersion)."""
        params, cluster = self.params, self._cluster()
        group = self.eks_backend.describe_nodegroup(cluster.name, params["nodegroupName"])
        reference = params.get("launchTemplate") or group.launch_template
        template = self._template(_one_key(reference))
        data = template.data if template else {}
        custom = checks.check_template({**params, "amiType": None}, data)
        if custom != (group.ami_type == "CUSTOM"):
            raise invalid("a node group cannot change between a custom AMI and an EKS AMI; create a new one")
        group.version = checks.checked_version(params.get("version") or cluster.version, cluster.version)
        if custom:
            checks.check_architecture("CUSTOM", group.instance_types, group.version, self.ec2.amis.get(data["ImageId"]))
            group.release_version = data["ImageId"]
        else:
            checks.check_architecture(group.ami_type, [], group.version, None)
            wanted = checks.checked_release(group.ami_type, group.version, params.get("releaseVersion"))
            checks.check_not_older(group.ami_type, group.release_version, wanted)
            group.release_version = wanted
        group.launch_template = _reference(template)
        group.modified_at = utcnow()
        self._roll(cluster, group, data)
        return self._update("VersionUpdate", params)

    def _roll(self, cluster: Cluster, group: Nodegroup, data: Record) -> None:
        own = self.ec2.get_launch_template(extras(cluster).templates[group.nodegroup_name])
        version = own.create_version(self._template_data(cluster, group, data), "")
        own.default_version_number = version.number
        asg = self.autoscaling.autoscaling_groups[self._asg_name(group)]
        asg.mixed_instances_policy = _mixed(group, own.id, version.number)
        asg.launch_template_version = str(version.number)
        asg.set_desired_capacity(0)
        asg.set_desired_capacity(group.scaling_config["desiredSize"])

    def delete_nodegroup(self) -> ActionResult:
        """Answer DeleteNodegroup: its Auto Scaling Group, instances and EKS's launch template go with it."""
        cluster = self._cluster()
        group = self.eks_backend.describe_nodegroup(cluster.name, self.params["nodegroupName"])
        asg = self.autoscaling.autoscaling_groups.get(self._asg_name(group))
        if asg is not None:
            for state in asg.instance_states:
                state.protected_from_scale_in = False
            asg.min_size = 0
            self.autoscaling.delete_auto_scaling_group(asg.name)
        template_id = extras(cluster).templates.pop(group.nodegroup_name, None)
        if template_id in self.ec2.launch_templates:
            self.ec2.delete_launch_template("", str(template_id))
        self.eks_backend.delete_nodegroup(cluster.name, group.nodegroup_name)
        group.status = "DELETING"
        return ActionResult({"nodegroup": group})

    def _asg_name(self, group: Nodegroup) -> str:
        groups: Any = group.resources["autoScalingGroups"]
        return str(groups[0]["name"])


def _owned(group: Nodegroup) -> dict[str, str]:
    return {"eks:cluster-name": group.cluster_name, "eks:nodegroup-name": group.nodegroup_name}


def _mixed(group: Nodegroup, template_id: str, version: int) -> Record:
    types = vars(group).get("sandbox_instance_types") or group.instance_types
    return {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": {"LaunchTemplateId": template_id, "Version": str(version)},
            "Overrides": [{"InstanceType": name} for name in types],
        },
        "InstancesDistribution": dict(_SPOT if group.capacity_type == "SPOT" else _ON_DEMAND),
    }


def _reference(template: LaunchTemplateVersion | None) -> dict[str, str] | None:
    if template is None:
        return None
    return {"id": template.template.id, "name": template.template.name, "version": str(template.number)}


def _one_key(reference: Record | None) -> Record | None:
    """Keep one key: DescribeNodegroup shows ID and name of a template; a request names it by one."""
    if reference and reference.get("id"):
        return {key: value for key, value in reference.items() if key != "name"}
    return reference


def _hide_template_fields(group: Nodegroup, *, own_instance_type: bool) -> None:
    """DescribeNodegroup omits what the launch template sets."""
    vars(group)["sandbox_instance_types"] = list(group.instance_types)
    vars(group)["disk_size"] = None
    if own_instance_type:
        vars(group)["instance_types"] = []
