"""An asynchronous client of the OCI distribution API: references, manifests, blobs, credentials.

``multiarch.images`` interprets what this package fetches.
Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""
