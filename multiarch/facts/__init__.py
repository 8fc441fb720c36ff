"""Facts as rows: architectures, instance types, AMI families, Kubernetes versions, pins, limits.

Every look-up fails loudly: a name that no table holds raises
:class:`multiarch.errors.UnknownFactError`. Nothing here opens a client; the only file
read is the instance-type table that lies beside the code, on first use.
"""
