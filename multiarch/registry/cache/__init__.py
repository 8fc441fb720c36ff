"""Caches: content by its digest, and the digests that tags pointed at, with the time."""
