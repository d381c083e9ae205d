#!/bin/sh
# `sh screen.sh SUPPLIERS OUT.csv` screens the companies of a file for debts, a credit each.
#
# Each batch is appended to OUT.csv when it is answered. Run it again after it has stopped, however it did: companies that OUT.csv
# has are not asked for, nor paid, again.
set -eu
. "$(dirname "$0")/directory.sh"
[ $# -eq 2 ] || fail "it takes a file to read and one to write"
suppliers=$1
out=$2
header=nif,status,tax_start,tax_end,tax_date,social_security_start,social_security_end,social_security_date
batch=100 # up to 1,000; a batch that a killed run has paid but not written is free for ten minutes

nifs_of "$suppliers" >"$work/all"
go_on "$out" "$header"
[ -s "$out" ] || echo "$header" >"$out"
cut -d , -f 1 "$out" >"$work/done"
grep -v -x -F -f "$work/done" "$work/all" >"$work/nifs" || true
[ -s "$work/nifs" ] || fail "$out: has all of them. Name another file to screen them again"
total=$(wc -l <"$work/nifs")
answered=0

while [ -s "$work/nifs" ]; do
  nifs=$(head -n "$batch" "$work/nifs" | json_list)
  call /debts --data "{\"nifs\":$nifs}" >"$work/answer"
  # A line for each item. The credits did not suffice for some (429), or the service was too busy (503). The next run asks for them.
  jq --raw-output '
    .data[] | select(.status != 429 and .status != 503)
    | [.nif, .status, (.debts.tax_debt, .debts.social_security_debt | .start, .end, .last_updated)]
    | join(",")' "$work/answer" >"$work/rows"
  cat "$work/rows" >>"$out"
  jq --raw-output '.datasets | to_entries[] | select(.value == null)
    | "the list \(.key) was never imported: no bracket there says nothing"' "$work/answer" >&2
  answered=$((answered + $(wc -l <"$work/rows")))
  kind=$(jq --raw-output '[.data[] | select(.status == 429 or .status == 503)][0].problem.type // "" | split("/") | last // empty' "$work/answer")
  [ -z "$kind" ] || fail "$kind: stopped after $answered of $((total)) companies"
  tail -n "+$((batch + 1))" "$work/nifs" >"$work/rest"
  mv "$work/rest" "$work/nifs"
done
echo "$((total)) companies screened"
