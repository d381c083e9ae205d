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
  after=$(tail -n 1 "$out" | sed -n 's/^{"[a-z]*":"\(chg_[0-9]*\)".*/"\1"/p')
  call /debts/changes --data "{\"after\":${after:-null},\"nifs\":$nifs}" >"$work/answer"
  echo >>"$work/answer"
  more=$(sed -n 's/.*"more":\([a-z]*\)}$/\1/p' "$work/answer")
  {
    # A line for each change. "ended": no longer on the list of that date. It does not say that the debt was paid.
    items_of id <"$work/answer"
    [ "$more" = true ] || sed -n 's/.*\],\("next":"chg_[0-9]*"\),.*/{\1}/p' "$work/answer"
  } >"$work/lines"
  cat "$work/lines" >>"$out"
  grep '"id"' "$work/lines" || true
done
