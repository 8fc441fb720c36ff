"""Clusters that no stack made, in the shapes that other tools give them, for the sandbox's AWS.

Names, tags, roles and launch templates are those that eksctl, terraform-aws-eks and the console write. Each function
takes clients of boto3, and makes one cluster.
"""
