"""One module per section of the page: each makes it from the result of one command."""
