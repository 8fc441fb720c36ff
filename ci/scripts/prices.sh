#!/bin/sh
# Fetch AWS's prices in the regions of the stacks that REPORTS/affected.txt names, so that the review shows costs.
#
#   PRICES        the price file, which the cache of a job may keep. Default: .cache/prices.json.
#   PREVIEW_ROLE  the IAM role to fetch them with; PREVIEW_ROLE_STACK for a stack of its own account.
#
# Prices that are less than a day old are kept. Exit code: 0, also without prices: the review then shows vCPUs and GiB.
. "$(dirname "$0")/common.sh"

[ -s "$REPORTS/affected.txt" ] || exit 0
# Rejected stacks are in the list too, and give it another exit code.
$MULTIARCH stack list --output json 2>/dev/null >"$REPORTS/stacks.json" || :
python3 - "$REPORTS/stacks.json" "$REPORTS/affected.txt" >"$REPORTS/regions.txt" <<'PYTHON' || :
import json, sys
with open(sys.argv[2], encoding="utf-8") as text:
    affected = text.read().split()
with open(sys.argv[1], encoding="utf-8") as text:
    stacks = [each for each in json.load(text)["stacks"] if each.get("stack") in affected and each.get("region")]
for region, stack in {each["region"]: each["stack"] for each in stacks}.items():
    print(region, stack)
PYTHON
private_folder
while read -r region stack; do
  (
    use_aws_role "$(role_of PREVIEW "$stack")"
    $MULTIARCH prices fetch --region "$region" --max-age 24 --file "${PRICES:-.cache/prices.json}" </dev/null >/dev/null
  ) || say "The prices of $region can't be fetched."
done <"$REPORTS/regions.txt"
rm -f -- "$REPORTS/stacks.json" "$REPORTS/regions.txt"
