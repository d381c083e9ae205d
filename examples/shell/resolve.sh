#!/bin/sh
# `sh resolve.sh NAMES.csv OUT.csv` gives the companies of a list their NIFs, a credit for each name that finds one.
#
# The names are the first column of NAMES.csv, whose columns end with commas, semicolons or tabs, as its first row says. OUT.csv gets a
# row for each, in their order: the likeliest company, and the evidence for each word of the name. Look at the rows that are not clear
# before you trust them. Each batch is appended when it is answered. Run it again after it has stopped, however it did: names that
# OUT.csv has are not asked for, nor paid, again.
set -eu
. "$(dirname "$0")/directory.sh"
[ $# -eq 2 ] || fail "it takes a file to read and one to write"
source=$1
out=$2
header=name,status,clear,nif,legal_name,evidence
batch=100 # a batch that a killed run has paid but not written is free for ten minutes

# first_cells FILE SEPARATOR <TEXT: the first cell of each row, a line each. A quoted cell may have separators, quotes and line breaks. A
# row without a name is told.
first_cells() {
  jq --raw-input --null-input --arg separator "$2" '
    def one_line: [splits("\\s+") | select(. != "")] | join(" ");
    def first_cell:
      if startswith("\"") then capture("^\"(?<text>([^\"]|\"\")*)\"").text | gsub("\"\""; "\"") else split($separator)[0] // "" end;
    "(\"([^\"]|\"\")*\"|(?!\")[^\($separator)]*)" as $cell
    | foreach (inputs, null) as $line ({};
        if $line == null then {broken: .first}
        else ((.begun // "") + ($line | ltrimstr("\ufeff"))) as $row
          | (.first // $row) as $first
          | if $row | test("^\($cell)(\($separator)\($cell))*$") then {$row}
            elif ($row | length) > 99999 then {broken: $first}
            else {begun: ($row + " "), $first} end
        end;
        if .broken then {broken} elif .row == null then empty
        else {row, name: (.row | first_cell | one_line)} | select(.name != "" or (.row | test("[^\\s\",;]"))) | .row |= one_line end)' \
    >"$work/cells"
  jq --raw-output 'select(.name == "") | "left out, no name: \(.row)"' "$work/cells" >&2
  broken=$(jq --raw-output '.broken // empty' "$work/cells" | head -n 1)
  [ -z "$broken" ] || fail "$1: a quote is not closed, or text follows it: $broken"
  jq --raw-output '.name | select(. != "")' "$work/cells"
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
first_cells "$source" "$separator" <"$work/text" >"$work/found"
case $(head -n 1 "$work/found" | tr '[:upper:]' '[:lower:]') in
  name | nome | legal_name) tail -n +2 "$work/found" >"$work/all" ;;
  *) mv "$work/found" "$work/all" ;;
esac
[ -s "$work/all" ] || fail "$source: no name in its first column"

go_on "$out" "$header"
[ -s "$out" ] || echo "$header" >"$out"
tail -n +2 "$out" | first_cells "$out" , >"$work/done"
head -n "$(wc -l <"$work/done")" "$work/all" | cmp -s - "$work/done" ||
  fail "$out: its names are not the first ones of $source. Write to another file"
tail -n "+$(wc -l <"$out")" "$work/all" >"$work/names"
total=$(wc -l <"$work/names")

# rows: a row for each name that is answered. Names for which the credits did not suffice (429) come last; the service was too busy
# for others (503). The next run asks for them.
rows() {
  jq --raw-input --null-input --raw-output --slurpfile answer "$work/answer" '
    def cell: if type == "string" and test("[\",]") then [.] | @csv else . end;
    [inputs] as $names
    | $answer[0].data
    | .[:(map(.status == 429 or .status == 503) | index(true))]
    | to_entries[]
    | .value as $item
    | ([($item.words // [])[].word, ($item.candidates[0].evidence // [])] | .[:-1] as $words | .[-1]
      | to_entries
      | map("\($words[.key]) \(.value | if type == "string" then . else to_entries[0] | "\(.key) \(.value)" end)")
      | join("; ")) as $reasons
    | [$names[.key], $item.status, ($item.clear // false), ($item.candidates[0] | .nif, .legal_name), $reasons]
    | map(cell) | join(",")'
}

stopped_after=0
unclear=0
while [ -s "$work/names" ]; do
  head -n "$batch" "$work/names" >"$work/asked"
  jq --raw-input --null-input --compact-output '{names: [inputs]}' <"$work/asked" >"$work/request"
  call /resolutions --data-binary "@$work/request" >"$work/answer"
  rows <"$work/asked" >"$work/rows"
  cat "$work/rows" >>"$out"
  unclear=$((unclear + $(jq "[.data[:$(wc -l <"$work/rows")][] | select(.clear != true)] | length" "$work/answer")))
  answered=$(wc -l <"$work/rows")
  stopped_after=$((stopped_after + answered))
  if [ "$answered" -lt "$(wc -l <"$work/asked")" ]; then
    kind=$(jq --raw-output ".data[$((answered))].problem.type | split(\"/\") | last" "$work/answer")
    echo "$kind: stopped after $stopped_after of $((total)) names" >&2
    exit 1
  fi
  tail -n "+$((batch + 1))" "$work/names" >"$work/rest"
  mv "$work/rest" "$work/names"
done
echo "$((total)) names resolved, $unclear to look at"
