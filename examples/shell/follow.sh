#!/bin/sh
# `sh follow.sh SUPPLIERS CHANGES.jsonl` appends what has changed for the companies of a file since the last run.
#
# A credit for each change, and at least one. Each line is a change, or the cursor of an answer without one, so the last line
# says where to go on: a run that was killed leaves no gap, and what it has written is not paid again.
set -eu
. "$(dirname "$0")/directory.sh"
suppliers=$1
out=$2

touch "$out"
drop_cut_off "$out"
# At most 1,000 companies a request. Without "nifs" it is every company of both lists.
nifs=$(nifs_of "$suppliers" | json_list)
more=true
while [ "$more" = true ]; do
  after=$(tail -n 1 "$out" | jq '.id // .next')
  call /debts/changes --data "{\"after\":${after:-null},\"nifs\":$nifs}" >"$work/answer"
  more=$(jq .more "$work/answer")
  # A line for each change. "ended": no longer on the list of that date. It does not say that the debt was paid.
  jq --compact-output '.data[]' "$work/answer" | tee -a "$out"
  [ "$more" = true ] || jq --compact-output '{next}' "$work/answer" >>"$out"
done
