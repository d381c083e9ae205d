#!/bin/sh
# `sh companies.sh NAME` finds companies by the beginning of their name, and looks up the first one. Costs two credits.
set -eu
. "$(dirname "$0")/directory.sh"
name=${1:-constru}

# At most 20, and no further pages: a longer beginning of the name finds fewer.
call /companies --get --data-urlencode "q=$name" >"$work/found"
jq --raw-output '.data[] | "\(.nif) \(.legal_name)"' "$work/found"
nif=$(jq --raw-output '.data[0].nif // empty' "$work/found")
[ -n "$nif" ] || exit 0
call "/companies/$nif" >"$work/company"
jq --raw-output '.data
  | "\(.title), \(if .city == "" then "city unknown" else .city end), "
    + "tax debt \(if .tax_debt then "from \(.tax_debt.start) EUR" else "unknown" end)"' "$work/company"
call /usage >"$work/usage"
jq --raw-output '"credits left: \(.data.left)"' "$work/usage"
