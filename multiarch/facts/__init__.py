"""Facts as rows: architectures, instance types, AMI families, Kubernetes versions, pins, limits.

A look-up of an unknown name raises
:class:`multiarch.errors.UnknownFactError`. Nothing here opens a client; the only file
read is the instance-type table that lies beside the code, on first use.
"""
