#!/bin/sh
# `sh screen.sh SUPPLIERS OUT.csv` screens the companies of a file for debts, a credit each.
#
# Each batch is appended to OUT.csv when it is answered. Run it again after it has stopped, however it did: companies that OUT.csv
# has are not asked for, nor paid, again.
set -eu
. "$(dirname "$0")/directory.sh"
suppliers=$1
out=$2
batch=100 # up to 1,000; a batch that a killed run has paid but not written is free for ten minutes

touch "$out"
drop_cut_off "$out"
[ -s "$out" ] || echo nif,status,tax_start,tax_end,tax_date,social_security_start,social_security_end,social_security_date >"$out"
cut -d , -f 1 "$out" >"$work/done"
nifs_of "$suppliers" >"$work/all"
grep -v -x -F -f "$work/done" "$work/all" >"$work/nifs" || true
total=$(wc -l <"$work/nifs")

while [ -s "$work/nifs" ]; do
  nifs=$(head -n "$batch" "$work/nifs" | json_list)
  call /debts --data "{\"nifs\":$nifs}" >"$work/answer"
  # A line for each item. Items for which the credits did not suffice (429) come last. The next run asks for them.
  jq --raw-output '
    .data[] | select(.status != 429)
    | [.nif, .status, (.debts.tax_debt, .debts.social_security_debt | .start, .end, .last_updated)]
    | join(",")' "$work/answer" >"$work/rows"
  cat "$work/rows" >>"$out"
  if jq --exit-status '.datasets | any(. == null)' "$work/answer" >"$work/unused"; then
    echo "a list was never imported: no bracket there says nothing" >&2
  fi
  if jq --exit-status '.data | any(.status == 429)' "$work/answer" >"$work/unused"; then
    echo "monthly-quota-exceeded: no credits for all companies" >&2
    exit 1
  fi
  tail -n "+$((batch + 1))" "$work/nifs" >"$work/rest"
  mv "$work/rest" "$work/nifs"
done
echo "$((total)) companies screened"
