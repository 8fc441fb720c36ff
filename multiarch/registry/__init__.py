"""An asynchronous client of the OCI distribution API: references, manifests, blobs, credentials and a cache.

``multiarch.images`` interprets what this package fetches.
Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""
