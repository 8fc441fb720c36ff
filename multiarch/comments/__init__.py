"""One comment on a merge request, and one issue, that update themselves in place, on GitLab and GitHub."""
