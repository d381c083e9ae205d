#!/bin/sh
# `sh resolve.sh NAMES.csv OUT.csv [--heading|--no-heading] [--clear-only]` gives the companies of a list their NIFs, a credit for each
# name that finds one. With `--clear-only` names that are not clear cost nothing, and have no likeliest company.
#
# The names are the first column of NAMES.csv, whose columns end with commas, semicolons or tabs, as its first row says. OUT.csv gets
# each row as it is, in their order, and seven columns more: the NIF if the name is clear, else that of the likeliest company, and the
# evidence for each word of the name. Look at the rows that are not clear, and compare names that have `extra` words. Each batch is
# appended when it is answered. Run it again after it has stopped, however it did: rows that OUT.csv has are not asked for, nor paid,
# again.
set -eu
. "$(dirname "$0")/directory.sh"
[ $# -ge 2 ] || fail "it takes a file to read and one to write"
source=$1
out=$2
shift 2
option=
clear_only=false
for word; do
  case $word in
    --heading | --no-heading) option=$word ;;
    --clear-only) clear_only=true ;;
    *) fail "$word: no such option" ;;
  esac
done
# A first row is a heading if its name is one of these, without accents.
headings='nome, name, empresa, company, fornecedor, supplier, cliente, customer, entidade, entity, firma, designacao, denominacao, denominacao social, razao social, legal_name, legal name, nome da empresa, nome do fornecedor, nome do cliente, nome da entidade'
batch=100 # a batch that a killed run has paid but not written is free for ten minutes

# named_rows <TEXT: the rows of NAMES.csv that have a name, as JSON. A quoted cell may have separators, quotes and line breaks. A row
# without a name is told.
named_rows() {
  jq --raw-input --null-input --compact-output --arg separator "$separator" '
    def one_line: [splits("\\s+") | select(. != "")] | join(" ");
    def first_cell:
      if startswith("\"") then capture("^\"(?<text>([^\"]|\"\")*)\"").text | gsub("\"\""; "\"") else split($separator)[0] // "" end;
    "(?:\"(?:[^\"]|\"\")*\"|(?!\")[^\($separator)]*)" as $cell
    | foreach (inputs, null) as $line ({};
        if $line == null then {broken: .first}
        else ((.begun // "") + ($line | ltrimstr("\ufeff"))) as $row
          | (.first // $row) as $first
          | if $row | test("^\($cell)(\($separator)\($cell))*$") then {$row}
            elif ($row | length) > 99999 then {broken: $first}
            else {begun: ($row + "\n"), $first} end
        end;
        if .broken then {broken: (.broken | one_line)} elif .row == null then empty
        else .row as $row
          | {$row, name: ($row | first_cell | one_line), width: ([$row | scan("(?:^|\($separator))\($cell)")] | length)}
          | select(.name != "" or ($row | test("[^\\s\",;]"))) end)' >"$work/found"
  jq --raw-output 'select(.name == "") | .row | "left out, no name: \([splits("\\s+") | select(. != "")] | join(" "))"' "$work/found" >&2
  broken=$(jq --raw-output '.broken // empty' "$work/found" | head -n 1)
  [ -z "$broken" ] || fail "$source: a quote is not closed, or text follows it: $broken"
  jq --compact-output 'select(.name != "")' "$work/found"
}

text_of "$source" >"$work/text"
iconv -f UTF-8 -t UTF-8 "$work/text" >"$work/unused" 2>&1 || fail "$source: not UTF-8. Save it as UTF-8"
# Spreadsheets save with semicolons where a comma is in numbers.
tab=$(printf '\t')
case $(head -n 1 "$work/text" | sed 's/"[^"]*"//g') in
  *';'*) separator=';' ;;
  *"$tab"*) separator=$tab ;;
  *) separator=, ;;
esac
named_rows <"$work/text" >"$work/rows"
# A line for each line of OUT.csv, its heading first: the name, and the beginning, which is the row of NAMES.csv, as wide as the widest.
heading=$(head -n 1 "$work/rows" | jq --raw-output --arg headings "$headings" --arg option "$option" '
  (.name | gsub("[çÇ]"; "c") | gsub("[ãÃ]"; "a") | ascii_downcase) as $name
  | if $option == "--heading" or ($option == "" and any($headings | splits(", "); . == $name)) then .name else empty end')
echo "${heading:+heading: }${heading:-no heading}" >&2
jq --slurp --compact-output --arg separator "$separator" --arg heading "$heading" '
  if $heading == "" then [{row: "name", width: 1}] + . else . end
  | (map(.width) | max) as $width
  | map({name, begin: (.row + $separator * ($width - .width + 1))})
  | .[0].begin += (["nif", "likeliest", "legal_name", "clear", "extra", "evidence", "status"] | join($separator))
  | .[]' "$work/rows" >"$work/table"
[ "$(wc -l <"$work/table")" -gt 1 ] || fail "$source: no name in its first column"

# How many of these rows, and how many lines, runs before this one have written. The last one is removed if a killed run has cut it off.
# A quoted cell of NAMES.csv may have line breaks; the columns after it have none.
[ -e "$out" ] || : >"$out"
written=$(jq --raw-input --slurp --raw-output --slurpfile table "$work/table" '
  (rtrimstr("\ufffd") | split("\n")) as $lines
  | {rows: 0, lines: 0}
  | until(.ended;
      ($table[.rows].begin // "\u0000") as $begin
      | (.lines + ($begin | split("\n") | length)) as $next
      | ($lines[.lines:$next] | join("\n")) as $text
      | if ($text | startswith($begin)) and $next < ($lines | length) then .rows += 1 | .lines = $next
        else .ended = true | .fits = ($next >= ($lines | length) and ($text[:$begin | length] as $found | $begin | startswith($found))) end)
  | select(.fits) | "\([.rows, 1] | max) \(.lines)"' "$out")
[ -n "$written" ] || fail "$out: its rows are not the first ones of $source. Write to another file"
head -n "${written#* }" "$out" >"$out.tmp"
mv "$out.tmp" "$out"
[ -s "$out" ] || head -n 1 "$work/table" | jq --raw-output .begin >"$out"
tail -n "+$((${written% *} + 1))" "$work/table" >"$work/rest"
total=$(wc -l <"$work/rest")

stopped_after=0
unclear=0
while [ -s "$work/rest" ]; do
  head -n "$batch" "$work/rest" >"$work/asked"
  jq --slurp --compact-output --argjson clear_only "$clear_only" '{names: map(.name), $clear_only}' "$work/asked" >"$work/request"
  call /resolutions --data-binary "@$work/request" >"$work/answer"
  # Names for which the credits did not suffice (429) come last; the service was too busy for others (503). The next run asks for them.
  answered=$(jq '.data | map(.status == 429 or .status == 503) | index(true) // length' "$work/answer")
  jq --raw-output --slurpfile asked "$work/asked" --arg separator "$separator" --argjson answered "$answered" '
    def cell: tostring | if contains("\"") or contains($separator) then [.] | @csv else . end;
    .data[:$answered] | to_entries[] | .key as $at | .value as $item
    | ($item.candidates[0].evidence // [] | to_entries
      | map("\($item.words[.key].word) \(.value | if type == "string" then . else to_entries[0] | "\(.key) \(.value)" end)")
      | join("; ")) as $reasons
    | $item.candidates[0] as $first
    | ($first.nif // "") as $nif
    | (if $item.clear then [$nif, ""] else ["", $nif] end)
      + [$first.legal_name // "", $item.clear // false, $first.extra // "", $reasons, $item.status]
    | $asked[$at].begin + (map(cell) | join($separator))' "$work/answer" >"$work/rows"
  cat "$work/rows" >>"$out"
  unclear=$((unclear + $(jq "[.data[:$answered][] | select(.clear != true)] | length" "$work/answer")))
  stopped_after=$((stopped_after + answered))
  if [ "$answered" -lt "$(wc -l <"$work/asked")" ]; then
    kind=$(jq --raw-output ".data[$answered].problem.type | split(\"/\") | last" "$work/answer")
    echo "$kind: stopped after $stopped_after of $((total)) names" >&2
    exit 1
  fi
  tail -n "+$((batch + 1))" "$work/rest" >"$work/next"
  mv "$work/next" "$work/rest"
done
echo "$((total)) names resolved, $unclear to look at"
