"""The stand-in for the aws provider: one table row per resource type, boto3 calls to the sandbox's AWS."""
