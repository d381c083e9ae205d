# What the example programs share. Sourced by them; needs a POSIX shell, curl and jq.
# fail TEXT: ends the program.
fail() {
  echo "$1" >&2
  exit 1
}

[ -n "${DIRECTORY_URL:-}" ] && [ -n "${API_KEY:-}" ] || fail "set DIRECTORY_URL and API_KEY"
max_attempts=4
max_wait_s=60
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# In a file: other users of this machine see command lines.
(umask 077 && printf 'Authorization: Bearer %s\n' "$API_KEY" >"$work/key")

# call PATH [option of curl]...: prints the answer. Waits as long as Retry-After says, at most a minute; makes at most four attempts.
# A lost answer is asked for again: with a body for nothing, because the Idempotency-Key is the same; without one only once.
call() {
  url=$DIRECTORY_URL/api/v1$1
  shift
  attempt=1
  lost_attempts=$max_attempts
  case $* in *--data' '* | *--data-binary*) ;; *) lost_attempts=2 ;; esac
  while :; do
    : >"$work/headers"
    status=$(curl --silent --show-error --max-time 40 --header "@$work/key" --header 'Content-Type: application/json' \
      --header 'Idempotency-Key: example' --dump-header "$work/headers" --output "$work/body" --write-out '%{http_code}' "$@" "$url" 2>"$work/reason") || {
      [ "$attempt" -lt "$lost_attempts" ] || fail "no answer from $DIRECTORY_URL: $(cat "$work/reason")"
      [ "$lost_attempts" -gt 2 ] || echo "no answer: $(cat "$work/reason"). Asked once more, which costs again" >&2
      attempt=$((attempt + 1))
      sleep 1
      continue
    }
    if [ "$status" = 200 ] && jq --exit-status type "$work/body" >"$work/unused" 2>&1; then
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
      unauthorized) echo "set API_KEY to a key that is in force" >&2 ;;
      # Weeks may be left until then: no program waits for that.
      monthly-quota-exceeded) echo "no credits until $(jq --raw-output .reset "$work/body")" >&2 ;;
      changes-expired) echo "screen the list again, then follow the changes into a new file" >&2 ;;
    esac
    detail=$(jq --raw-output '.detail // empty' "$work/body" 2>"$work/unused" || true)
    [ -n "$kind" ] || fail "no answer of the service: is DIRECTORY_URL right, and is no proxy in between?"
    fail "$kind: $detail"
  done
}

# text_of FILE: the text of a file in UTF-8, or in UTF-16 with its mark, as spreadsheets save it. Lines end in line feeds.
text_of() {
  [ -e "$1" ] || fail "$1: No such file or directory"
  [ ! -d "$1" ] || fail "$1: Is a directory"
  case $(head -c 2 "$1" | od -A n -t x1) in
    *ff*fe* | *fe*ff*) iconv -f UTF-16 -t UTF-8 "$1" >"$work/decoded" || fail "$1: UTF-16. Save it as UTF-8" ;;
    *) cat "$1" >"$work/decoded" ;;
  esac
  [ "$(tr -d '\000' <"$work/decoded" | wc -c)" -eq "$(wc -c <"$work/decoded")" ] ||
    fail "$1: not UTF-8, nor UTF-16 with its mark. Save it as UTF-8"
  LC_ALL=C sed "s/$(printf '\r')\$//" "$work/decoded" | tr '\r' '\n'
}

# nifs_of FILE: the first valid NIF of each row, each once: of a list, or of a table of suppliers. A row that has none, or several, is
# told. Separators are those that the API takes. A tab is none, because it separates columns.
nifs_of() {
  text_of "$1" >"$work/text"
  jq --raw-input --null-input '
    def is_valid:
      explode | map(. - 48) as $digits
      | (reduce range(8) as $place (0; . + $digits[$place] * (9 - $place)) % 11) as $rest
      | $digits[8] == (if $rest < 2 then 0 else 11 - $rest end);
    def nines:
      splits("[^0-9 \u00a0\u202f.-]+") | [scan("[0-9]+")] as $groups
      | range($groups | length) as $from | range($from + 1; $from + 10) as $to
      | select($to <= ($groups | length)) | $groups[$from:$to] | join("") | select(length == 9);
    foreach inputs as $row (-1; . + 1;
      (reduce ($row | nines | select(is_valid)) as $nif ({}; .[$nif] = true) | keys_unsorted) as $found
      | if $found[0] then {nif: $found[0]} else empty end,
        if $found[1] then {told: "only the first NIF is taken of: \($row)"} else empty end,
        if $found == [] and ($row | test("\\S")) and (. > 0 or ($row | test("[0-9]")))
        then {told: "left out, no valid NIF: \($row)"} else empty end)' "$work/text" >"$work/rows"
  jq --raw-output '.told // empty' "$work/rows" >&2
  jq --raw-output --null-input 'reduce (inputs.nif // empty) as $nif ({}; .[$nif] = true) | keys_unsorted[]' "$work/rows" >"$work/found"
  [ -s "$work/found" ] || fail "$1: no valid NIF in it"
  cat "$work/found"
}

# go_on FILE TEXT: a file that a run before this one has written, or a new one. It begins with TEXT. Its last line is removed if that
# run was killed while it wrote it.
go_on() {
  [ -e "$1" ] || : >"$1"
  [ ! -s "$1" ] || [ "$(head -n 1 "$1" | cut -c "1-${#2}")" = "$2" ] || fail "$1: not written by this program"
  [ -n "$(tail -c 1 "$1")" ] || return 0
  head -n "$(wc -l <"$1")" "$1" >"$1.tmp"
  mv "$1.tmp" "$1"
}

# json_list: lines as a JSON list of texts.
json_list() {
  jq --raw-input --null-input --compact-output '[inputs]'
}
