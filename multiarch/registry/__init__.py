"""An asynchronous client of the OCI distribution API: references, manifests, blobs, credentials and a cache.

Nothing here knows what an image is: ``multiarch.images`` reads what this fetches.
Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""
