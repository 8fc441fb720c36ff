"""What was read already: content by its digest, which never changes, and what tags pointed at, and when."""
