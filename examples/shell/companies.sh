#!/bin/sh
# `sh companies.sh NAME` finds companies by the beginning of their name, and looks up the first one. Costs two credits.
set -eu
name=${1:-constru}
max_attempts=4
max_wait_s=60
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# In a file: other users of this machine see command lines.
(umask 077 && printf 'Authorization: Bearer %s\n' "$DIRECTORY_KEY" >"$work/key")

# call PATH [option of curl]...: prints the answer. Waits as long as Retry-After says, at most a minute; makes at most four attempts.
call() {
  url=$DIRECTORY_URL/api/v1$1
  shift
  attempt=1
  while :; do
    status=$(curl --silent --show-error --max-time 40 --header "@$work/key" --dump-header "$work/headers" \
      --output "$work/body" --write-out '%{http_code}' "$@" "$url")
    if [ "$status" = 200 ]; then
      cat "$work/body"
      return
    fi
    # The kind of a problem is the last segment of its type.
    kind=$(sed -n 's/.*"type":"[^"]*\/\([a-z-]*\)".*/\1/p' "$work/body")
    wait_s=$(awk 'tolower($1) == "retry-after:" { print int($2) }' "$work/headers")
    wait_s=${wait_s:-1}
    case $kind in
      # These cost no credit and pass by themselves. search-failed and company-lookup-failed cost one for each attempt.
      rate-limit-exceeded | service-unavailable | authentication-failed)
        if [ "$attempt" -lt "$max_attempts" ] && [ "$wait_s" -le "$max_wait_s" ]; then
          sleep "$wait_s"
          attempt=$((attempt + 1))
          continue
        fi
        ;;
      unauthorized) echo "set DIRECTORY_KEY to a key that is in force" >&2 ;;
      # Weeks may be left until then: no program waits for that.
      monthly-quota-exceeded) echo "no credits for $wait_s seconds" >&2 ;;
    esac
    echo "${kind:-no problem document}: status $status" >&2
    return 1
  done
}

# At most 20, and no further pages: a longer beginning of the name finds fewer.
found=$(call /companies --get --data-urlencode "q=$name")
echo "$found"
nif=$(echo "$found" | sed -n 's/^{"data":\[{"nif":"\([0-9]*\)".*/\1/p')
[ -n "$nif" ] || exit 0
call "/companies/$nif"
echo
call /usage
echo
