#!/bin/sh
# `sh match.sh NAMES.csv OUT.csv` gives the companies of a list their NIFs, a credit for each name.
#
# The names are the first column of NAMES.csv, in UTF-8. OUT.csv gets a row for each, in their order: the first company that was
# found, and how many there are (5: perhaps more). Look at a row with several before you trust it. Each batch is appended when it
# is answered. Run it again after it has stopped, however it did: names that OUT.csv has are not asked for, nor paid, again.
set -eu
. "$(dirname "$0")/directory.sh"
export LC_ALL=C # awk sees bytes, the same everywhere
source=$1
out=$2
batch=100 # a batch that a killed run has paid but not written is paid again

touch "$out"
drop_cut_off "$out"
[ -s "$out" ] || echo name,status,matches,nif,legal_name >"$out"

# The first cell of each row. A quoted cell may have commas, quotes and line breaks.
awk 'NR == 1 { sub(/^\357\273\277/, "") }
  {
    row = row $0
    if (gsub(/"/, "&", row) % 2) {
      row = row " "
      next
    }
    if (match(row, /^"([^"]|"")*"/)) {
      name = substr(row, 2, RLENGTH - 2)
      gsub(/""/, "\"", name)
    } else {
      name = row
      sub(/,.*/, "", name)
    }
    row = ""
    gsub(/[ \t\r]+/, " ", name)
    gsub(/^ | $/, "", name)
    if (name != "" && (names++ || tolower(name) !~ /^(name|nome|legal_name)$/)) print name
  }' "$source" | tail -n "+$(wc -l <"$out")" >"$work/names"
total=$(wc -l <"$work/names")

# rows: from a line for each item of an answer, a row for each that is answered.
rows() {
  awk '
    function cell(text) {
      if (text !~ /[",]/) return text
      gsub(/"/, "\"\"", text)
      return "\"" text "\""
    }
    function plain(text) { # of a JSON text
      gsub(/\\\\/, "\001", text)
      gsub(/\\"/, "\"", text)
      gsub(/\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f]|\\[a-z]/, " ", text)
      gsub(/\001/, "\\", text)
      return text
    }
    NR == FNR { names[NR] = $0; next }
    {
      match($0, /"status":[0-9]+/)
      status = substr($0, RSTART + 9, RLENGTH - 9)
      # Names for which the credits did not suffice come last; the service was too busy for others. The next run asks for them.
      if (status == 429 || status == 503) exit
      nif = legal_name = ""
      matches = gsub(/[{]"nif":"/, "&")
      if (match($0, /"nif":"[0-9]+","legal_name":"([^"\\]|\\.)*"/)) {
        nif = substr($0, RSTART + 7, 9)
        legal_name = plain(substr($0, RSTART + 32, RLENGTH - 33))
      }
      print cell(names[FNR]) "," status "," matches "," nif "," cell(legal_name)
    }' "$work/names" -
}

stopped_after=0
while [ -s "$work/names" ]; do
  asked=$(head -n "$batch" "$work/names" | wc -l)
  head -n "$batch" "$work/names" | sed 's/["\\]/\\&/g' | json_list | sed -e 's/^/{"queries":/' -e 's/$/}/' >"$work/request"
  call /matches --data-binary "@$work/request" >"$work/answer"
  items_of q <"$work/answer" >"$work/items"
  rows <"$work/items" >"$work/rows"
  cat "$work/rows" >>"$out"
  answered=$(wc -l <"$work/rows")
  stopped_after=$((stopped_after + answered))
  if [ "$answered" -lt "$asked" ]; then
    kind=$(sed -n "$((answered + 1))s/.*\"type\":\"[^\"]*\/\([a-z-]*\)\".*/\1/p" "$work/items")
    echo "$kind: stopped after $stopped_after of $((total)) names" >&2
    exit 1
  fi
  sed "1,${batch}d" "$work/names" >"$work/rest"
  mv "$work/rest" "$work/names"
done
echo "$((total)) names matched"
