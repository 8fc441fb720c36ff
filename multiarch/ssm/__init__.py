"""SSM Run Command: one script on many instances, with an answer or a reason for each."""
