# What the example programs share. Sourced by them; needs a POSIX shell, curl and jq.
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
    kind=$(jq --raw-output '.type | split("/") | last' "$work/body" 2>"$work/unused" || true)
    wait_s=$(jq --raw-input --raw-output 'capture("^retry-after: *(?<seconds>[0-9]+)"; "i").seconds' "$work/headers")
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
  jq --raw-input --null-input --raw-output '
    reduce (inputs | [scan("[0-9]+") | select(length == 9)][0] // empty) as $nif ({}; .[$nif] = true)
    | keys_unsorted[]' "$1"
}

# drop_cut_off FILE: removes the last line if the run before was killed while it wrote it.
drop_cut_off() {
  [ -n "$(tail -c 1 "$1")" ] || return 0
  head -n "$(wc -l <"$1")" "$1" >"$1.tmp"
  mv "$1.tmp" "$1"
}

# json_list: lines as a JSON list of texts.
json_list() {
  jq --raw-input --null-input --compact-output '[inputs]'
}
