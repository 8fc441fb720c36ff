"""Rules about the cluster, its add-ons and its network."""

from __future__ import annotations

from multiarch.rules.rule import error, warning

# fmt: off
CLUSTER = (
    error("kubernetes-version", "a version that EKS does not have; unquoted 1.30 is the number 1.3",
          'Write it in quotes, such as "1.35".'),
    error("kubernetes-unsupported", "a version whose EKS support has ended",
          "Use a later version; an existing cluster is upgraded one minor version at a time."),
    warning("kubernetes-extended", "a version in extended support: 0.60 instead of 0.10 USD per hour",
            "Plan the upgrade."),
    warning("kubernetes-forced-upgrade",
            "a version whose extended support ends within 60 days; then EKS upgrades the cluster automatically",
            "Upgrade before that date."),
    warning("kubernetes-ends-soon", "a version whose standard support ends within 60 days", "Plan the upgrade."),
    error("upgrade-policy", "`upgradePolicy: STANDARD` for a version in extended support",
          "Upgrade the cluster to a version in standard support first, or write EXTENDED."),
    warning("upgrade-policy-soon",
            "`upgradePolicy: STANDARD` for a version whose standard support ends within 60 days; then EKS upgrades the "
            "cluster by itself",
            "Upgrade before that date, or write EXTENDED to keep the version at a higher price."),
    warning("kubernetes-unconfirmed", "a version whose support dates are not in the table of facts",
            "Check the EKS release calendar."),
    error("cluster-name", "a cluster name that EKS rejects", "Set clusterName."),
    error("endpoint-not-private", "`apiEndpoint.private: false`", "Leave private on; public can be on beside it."),
    error("public-without-cidrs", "a public endpoint without `publicCidrs`",
          "Set apiEndpoint.publicCidrs, for example to the office's CIDR block."),
    error("cidrs-without-public", "`publicCidrs` without `public: true`", "Set public: true, or remove publicCidrs."),
    warning("open-to-all", "`0.0.0.0/0` or another CIDR block larger than a /8 in `publicCidrs`",
            "List the CIDR blocks that need access."),
    warning("documentation-cidr", "a CIDR block reserved for documentation in `publicCidrs`",
            "Write the public address that your traffic comes from."),
    error("key-without-encryption", "`kmsKeyArn` with encryption off", "Turn encryption on, or remove the key."),
    error("principal", "an entry of `access` that is not the ARN of an IAM role or user",
          "Write arn:aws:iam::ACCOUNT:role/NAME."),
    error("principal-twice", "an ARN that `access` has twice", "Remove one."),
    error("access-entry-empty", "an entry of `access.entries` without `policies` and `groups`",
          "Add a policy, such as AmazonEKSViewPolicy: {}, or a group; or remove the entry."),
    error("access-group", "a group of an access entry that is empty or starts with `system:`, which EKS rejects",
          "Bind a group of your own to the role, or use an access policy, such as AmazonEKSClusterAdminPolicy."),
    error("creator-in-access",
          "an entry of `access` for whoever is about to create the cluster; `pulumi up` finds it, `preview` warns",
          "Remove it: EKS makes the creator an admin."),
    error("fixed-value",
          "a value that differs from the cluster's, and that EKS or its VPC can't change after creation; `pulumi "
          "preview`, `pulumi up` and `multiarch doctor` find it", "Write the value that the cluster has."),
    error("log-group-exists",
          "the control plane's log group exists, but the cluster does not; found like `fixed-value`",
          "Delete the log group."),
    warning("cluster-not-read", "a cluster, or a part of an existing one, that could not be read, so that it is not "
            "compared",
            "Allow eks:DescribeCluster, ec2:DescribeVpcs and kms:DescribeKey, and without a cluster "
            "logs:DescribeLogGroups and logs:ListTagsForResource."),
    error("cluster-not-managed", "a key of a new cluster beside `cluster.existing`",
          "Remove it: the cluster has its own value."),
    error("cluster-not-pinned", "`cluster.existing` without the cluster's version, subnets, authentication mode or IP "
          "family", "Run `multiarch stack pin STACK`."),
    error("cluster-not-found", "`cluster.existing` that names no cluster of the account and region, or one that is "
          "being created or deleted; found like `fixed-value`", "Check the name and aws:region."),
    error("cluster-differs", "a value below `cluster`, or `kubernetesVersion`, that differs from the existing "
          "cluster's; found like `fixed-value`", "Run `multiarch stack pin STACK`."),
    error("not-in-cluster-vpc", "a subnet or security group that does not exist or is not in the existing cluster's "
          "VPC, or a subnet of another zone; found like `fixed-value`", "Correct it, or remove it and run "
          "`multiarch stack pin STACK`."),
    error("no-free-addresses", "a zone whose subnets have no free address for a node; found like `fixed-value`, before "
          "the stack's first node group", "Name other subnets in cluster.subnets."),
    warning("no-free-pod-addresses", "a zone whose subnets have too few free addresses for the pods of one node; found "
            "like `no-free-addresses`", "Name other subnets in cluster.subnets, unless pods have subnets of their own "
            "(custom networking) or a CNI that takes no addresses of the VPC."),
    error("group-of-another", "a node group of the existing cluster that has the same name and is not the stack's; "
          "found like `fixed-value`", "Choose another name."),
    warning("aws-auth-line", "nodes whose role needs a line in the ConfigMap `aws-auth`, because the existing cluster "
            "takes no access entries", "Add the line in the output awsAuth after the first `pulumi up`."),
    warning("prod-unprotected", "production with `deletionProtection: false`",
            "Remove the line: production is protected by default."),
    error("addon-own-key", "an add-on in `addons.extra` that has a key of its own", "Write its own key."),
    warning("addon-unknown", "an add-on in `addons.extra` that nothing is known of, with a name close to a known one",
            "Correct the name, or acknowledge the warning."),
    error("addon-configuration", "`configurationValues` that AWS's schema of the add-on's version rejects, or "
          "tolerations that Kubernetes rejects",
          "Correct them; `aws eks describe-addon-configuration` shows the schema."),
    warning("addon-not-checked", "`configurationValues` of a version whose schema was not fetched",
            "Run `multiarch stack pin STACK`."),
    error("addon-schema", "a file of `addon-schemas` that can't be used",
          "Delete it, and run `multiarch stack pin STACK`."),
    error("addon-before-nodes", "`beforeNodes` of an add-on with pods that wait for a node", "Remove beforeNodes."),
    error("addon-service-account", "a role for an add-on whose service account or namespace is unknown",
          "Write serviceAccount and namespace, or run `multiarch stack pin STACK`, which queries EKS."),
    error("addon-pod-identity", "a version of an add-on that takes no role by Pod Identity", "Use a later version."),
    warning("addon-without-policies", "an add-on that calls AWS without permissions",
            "Write policies or statements; policies: [] if it needs none."),
    error("pod-identity-agent", "pods that get their IAM role from the Pod Identity agent, without it: those of an "
          "autoscaler, an add-on, the webhook, rebalancing, or `iam.serviceAccounts`",
          "Leave addons.podIdentityAgent on, or do without the roles: turn off addons.ebsCsi, autoscaling.use: none, "
          "policies: [] of another add-on, registries.ecr: false of the webhook, ecrRepositories: [] of rebalance, "
          "credentials: irsa of a service account."),
    warning("no-vpc-cni", "`addons.vpcCni` turned off; without a CNI nodes never become ready",
            "Install another CNI as soon as the cluster exists."),
    error("storage-class", "`storageClass: true` without the EBS CSI driver",
          "Turn on addons.ebsCsi, or remove storageClass."),
    warning("storage-class-unreachable",
            "`storageClass: true` with a private API endpoint in a new VPC: the first run can't reach the API",
            "Turn it on once a build agent or a VPN is in the VPC, or open apiEndpoint.public to your address."),
    warning("not-drained", "self-managed groups without the node termination handler",
            "Set nodeTerminationHandler: true where Pulumi can reach the Kubernetes API, or use managed groups."),
    error("termination-handler",
          "`nodeTerminationHandler: true` without self-managed groups, without a route to the registry of its image, "
          "or on an existing cluster, where it would drain nodes of others",
          "Remove nodeTerminationHandler."),
    warning("termination-handler-unreachable",
            "`nodeTerminationHandler: true` with a private API endpoint in a new VPC",
            "Turn it on once a build agent or a VPN is in the VPC, or open apiEndpoint.public to your address."),
    warning("no-device-plugin",
            "nodes with NVIDIA GPUs and an image of Amazon Linux without NVIDIA's device plugin, or groups with `efa` "
            "without the EFA device plugin",
            "Set gpuDevicePlugin, or efaDevicePlugin, to true, or to false if you install it yourself."),
    error("device-plugin",
          "`gpuDevicePlugin: true` or `efaDevicePlugin: true` without a route to the registry of its image, or on an "
          "existing cluster, whose other nodes may have it; that for GPUs also beside Bottlerocket nodes with GPUs, "
          "which have it", "Remove the key."),
    warning("device-plugin-unreachable",
            "`gpuDevicePlugin: true` or `efaDevicePlugin: true` with a private API endpoint in a new VPC",
            "Turn it on once a build agent or a VPN is in the VPC, or open apiEndpoint.public to your address."),
    error("chart-registry", "a `charts.registry` that is not `oci://HOST/PATH`, has credentials, or ends with a slash",
          "Write oci://HOST/PATH. Credentials are those of `helm registry login` or `docker login`."),
    error("controller-has-no-node", "taints on every group that coredns, or the EBS CSI controller, does not tolerate",
          "Add a group without that taint, or remove it from one."),
    warning("coredns-waits", "no node at the start in the groups that coredns can use",
            "Give one of them minSize 1 or more."),
    error("tag", "a tag key or value that AWS rejects", "Rewrite it."),
    error("required-tag", "tags that lack a key of `requiredTags`", "Add it to tags."),
    error("role-name", "a name in `iam.roles` that none of the stack's roles has", "Remove it, or correct the name."),
    error("role-own", "a role in `iam.roles` that the stack itself makes: it would detach the role's policies",
          "Remove the entry, or name another role that has its policies already."),
    error("role-shared", "an existing role in `iam.roles` that two kinds of nodes share; EKS makes and deletes the "
          "access entry of managed groups' roles itself", "Name a role of its own for each."),
    error("role-path", "managed groups whose role has a path, in a cluster without access entries: EKS writes the path "
          "into `aws-auth`, which does not take one", "Use a role without a path, or self-managed groups."),
    error("service-account-twice", "a service account in `iam.serviceAccounts` that has a role already; EKS rejects a "
          "second one", "Remove one of them."),
    warning("service-account-without-policies", "a role in `iam.serviceAccounts` without permissions",
            "Write policies or statements."),
    error("service-account-existing-role", "policies or statements in `iam.serviceAccounts` beside an existing role in "
          "`iam.roles`, which would not get them", "Remove them, and give the role its policies where it is made."),
    error("workload-name", "a namespace, service account or Fargate profile with a name that EKS or Kubernetes rejects",
          "Correct the name."),
    warning("fargate-pod-identity", "a Fargate profile for a whole namespace with pods whose IAM role comes from the "
            "Pod Identity agent, which is a DaemonSet: Fargate has none",
            "Write labels for the selector, or credentials: irsa."),
    error("irsa-existing-cluster", "`credentials: irsa` on an existing cluster",
          "Write pod-identity, or declare the role where the cluster's OIDC provider is declared."),
    error("arn-partition", "an ARN of another partition than the region's, such as `arn:aws:` in a region of China",
          "Correct the partition, or aws:region."),
    error("own-tag", "a tag that the plan writes itself",
          "Use the stack's own keys (team, environment, owner, costCenter)."),
)

NETWORK = (
    error("cidr", "a string that is not an IPv4 CIDR block", "Write a CIDR block such as 203.0.113.0/24."),
    error("cidr-size", "a VPC CIDR block outside /16 to /22, one of pods outside /16 to /25, or a Service CIDR block "
          "outside /12 to /24", "Choose another size."),
    warning("public-cidr", "a VPC CIDR block that is not private",
            "Use 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10."),
    error("service-cidr", "a Service CIDR block that is not private", "Use 172.20.0.0/16."),
    error("overlapping-cidrs", "a CIDR block of Services or pods that overlaps another one of the VPC",
          "Change network.cidr or network.serviceCidr."),
    error("secondary-cidr", "a `podCidr` that AWS does not associate with a VPC of that `cidr`",
          "Use a block of 100.64.0.0/10, such as 100.64.0.0/16."),
    error("pod-subnets", "`podSubnets` whose zones are not those of `privateSubnets`, or with a subnet of nodes",
          "Name one subnet for pods in each zone of the nodes."),
    error("ipv6", "`ipFamily: ipv6` beside settings of IPv4, or with instance types that take no IPv6 prefixes",
          "Omit the setting, or use instance types of the Nitro System, such as m7i and m7g."),
    error("custom-networking", "subnets for pods without the VPC CNI add-on, or with EKS Auto Mode, whose nodes do "
          "without it", "Omit podCidr and podSubnets, or leave addons.vpcCni on."),
    error("subnets-too-small",
          "a private subnet with fewer addresses than its nodes and all their pods need at `maxSize`",
          "Use a larger network.cidr or podCidr, fewer nodes (maxSize), smaller instance types, or prefix delegation, "
          "or give pods a CIDR block of their own (network.podCidr)."),
    error("zone", "an availability zone, in `network.zones` or a pool's `zones`, that is not of the region",
          "Write names such as eu-west-1a."),
    error("misspelled-key", "a misspelled `multiarch-eks:` or `aws:region`, which nothing reads",
          "Correct the key."),
    warning("zones-not-named", "production that takes the region's first zones instead of naming them",
            "List them in network.zones, such as [eu-west-1a, eu-west-1b, eu-west-1c]."),
    error("too-few-zones", "a region with fewer zones than `network.zones`",
          "Lower network.zones, or choose another region."),
    error("no-way-out", "`nat: none` without the endpoints that nodes need",
          "Add them to network.endpoints, or use nat: single."),
    error("existing-network", "keys of a new VPC beside those of an existing one",
          "Omit the key, or vpcId and the subnet IDs."),
    error("vpc-id", "subnets of an existing VPC without its `vpcId`", "Write an ID such as vpc-0123456789abcdef0."),
    error("subnets", "fewer than two private subnets, or a subnet named twice", "List at least two."),
    warning("one-zone", "the subnets of an existing cluster's nodes in one zone", "Add subnets of another zone."),
)
