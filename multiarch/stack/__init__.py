"""From a team's YAML to a plan: ``schema`` (what may be written), ``load`` (files to Stack), ``plan`` (to Plan)."""
