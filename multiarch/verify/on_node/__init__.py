"""What a node says about itself through SSM: the script that it runs, and the reader of the script's report."""
