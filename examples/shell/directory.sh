# What the example programs share. Sourced by them; needs a POSIX shell, curl and awk.
max_attempts=4
max_wait_s=60
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# In a file: other users of this machine see command lines.
(umask 077 && printf 'Authorization: Bearer %s\n' "$DIRECTORY_KEY" >"$work/key")

# call PATH [option of curl]...: prints the answer. Waits as long as Retry-After says, at most a minute; makes at most four attempts.
# With the Idempotency-Key a body whose answer was lost is not charged again within ten minutes.
call() {
  url=$DIRECTORY_URL/api/v1$1
  shift
  attempt=1
  while :; do
    status=$(curl --silent --show-error --max-time 40 --header "@$work/key" --header 'Content-Type: application/json' \
      --header 'Idempotency-Key: example' --dump-header "$work/headers" --output "$work/body" --write-out '%{http_code}' "$@" "$url")
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
      changes-expired) echo "screen the list again, then follow the changes into a new file" >&2 ;;
    esac
    echo "${kind:-no problem document}: status $status" >&2
    return 1
  done
}

# nifs_of FILE: the first number of nine digits in each line, each once: of a list, or of a table of suppliers.
nifs_of() {
  awk '{
    n = split($0, words, /[^0-9]+/)
    for (i = 1; i <= n; i++) if (length(words[i]) == 9) {
      if (!seen[words[i]]++) print words[i]
      break
    }
  }' "$1"
}

# drop_cut_off FILE: removes the last line if the run before was killed while it wrote it.
drop_cut_off() {
  [ -s "$1" ] || return 0
  [ "$(tail -c 1 "$1" | wc -l)" -eq 0 ] || return 0
  sed '$d' "$1" >"$1.tmp"
  mv "$1.tmp" "$1"
}

# items_of MEMBER: of an answer, a line for each object of its list "data". MEMBER is the first member of each object.
items_of() {
  sed -e 's/^{"data":\[//' -e 's/\],"datasets":.*//' -e 's/\],"next":.*//' |
    awk -v mark="},{\"$1\":" '{
      while ((at = index($0, mark)) > 0) {
        print substr($0, 1, at)
        $0 = substr($0, at + 2)
      }
      if ($0 != "") print
    }'
}

# json_list: numbers, one on each line, as a JSON list of texts.
json_list() {
  awk 'BEGIN { printf "[" } { printf "%s\"%s\"", (NR > 1 ? "," : ""), $0 } END { print "]" }'
}
