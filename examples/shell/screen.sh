#!/bin/sh
# `sh screen.sh SUPPLIERS OUT.csv` screens the companies of a file for debts, a credit each.
#
# Each batch is appended to OUT.csv when it is answered. Run it again after it has stopped, however it did: companies that OUT.csv
# has are not asked for, nor paid, again.
set -eu
. "$(dirname "$0")/directory.sh"
suppliers=$1
out=$2
batch=100 # up to 1,000; a batch that a killed run has paid but not written is paid again

touch "$out"
drop_cut_off "$out"
[ -s "$out" ] || echo nif,status,tax_start,tax_end,tax_date,social_security_start,social_security_end,social_security_date >"$out"
nifs_of "$suppliers" | awk -F, 'NR == FNR { done[$1] = 1; next } !done[$1]' "$out" - >"$work/nifs"

while [ -s "$work/nifs" ]; do
  nifs=$(head -n "$batch" "$work/nifs" | json_list)
  call /debts --data "{\"nifs\":$nifs}" >"$work/answer"
  # A line for each item. Items for which the credits did not suffice (429) come last. The next run asks for them.
  items_of nif <"$work/answer" |
    sed -n \
      -e 's/"end":null/"end":/g' \
      -e 's/{"start":\([0-9]*\),"end":\([0-9]*\),"last_updated":"\([0-9-]*\)"}/\1,\2,\3/g' \
      -e 's/_debt":null/_debt":,,/g' \
      -e 's/^{"nif":"\([0-9]*\)","status":200,"debts":{"tax_debt":\([^"]*\),"social_security_debt":\([^}]*\)}}$/\1,200,\2,\3/p' \
      -e '/"status":429/d' \
      -e 's/^{"nif":"\([0-9]*\)","status":\([0-9]*\),"problem":.*/\1,\2,,,,,,/p' >"$work/rows"
  cat "$work/rows" >>"$out"
  if grep -q '"datasets":{.*null' "$work/answer"; then
    echo "a list was never imported: no bracket there says nothing" >&2
  fi
  if grep -q '"status":429' "$work/answer"; then
    echo "monthly-quota-exceeded: no credits for all companies" >&2
    exit 1
  fi
  sed "1,${batch}d" "$work/nifs" >"$work/rest"
  mv "$work/rest" "$work/nifs"
done
