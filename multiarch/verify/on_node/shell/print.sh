# Prints the report: a line "multiarch-node-report 1 gzip" or "... plain", the report in that form, and a line "end N" with
# the count of its characters. A report has lines of fields, separated by tabs; report.py reads it. What does not fit into
# Run Command's 24,000 characters is cut, and the last line is "more".

most=23000

# packed TEXT: sets form and text
packed() {
  form=plain text=$(printf '%s\n' "$1" | tr '\200-\377' '?')
  if have gzip && have base64; then
    compressed=$(printf '%s\n' "$1" | gzip -9c | base64 | tr -d '\n')
    [ -z "$compressed" ] || form=gzip text=$compressed
  fi
}

report=$(gather)
packed "$report"
keep=$(printf '%s\n' "$report" | sed -n '$=')
while [ "${#text}" -gt "$most" ] && [ "$keep" -gt 1 ]; do
  keep=$((keep * most / ${#text} * 19 / 20))
  [ "$keep" -gt 1 ] || keep=1
  packed "$(printf '%s\n' "$report" | sed -n "1,${keep}p")${nl}more"
done
printf 'multiarch-node-report 1 %s\n%s\nend %s\n' "$form" "$text" "${#text}"
