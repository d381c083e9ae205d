#!/bin/sh
# `sh companies.sh NAME` finds companies by the beginning of their name, and looks up the first one. Costs two credits.
set -eu
. "$(dirname "$0")/directory.sh"
name=${1:-constru}

# At most 20, and no further pages: a longer beginning of the name finds fewer.
call /companies --get --data-urlencode "q=$name" >"$work/found"
jq --compact-output . "$work/found"
nif=$(jq --raw-output '.data[0].nif // empty' "$work/found")
[ -n "$nif" ] || exit 0
call "/companies/$nif"
echo
call /usage
echo
