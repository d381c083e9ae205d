#!/bin/sh
# `sh follow.sh SUPPLIERS CHANGES.jsonl` appends what has changed for the companies of a file since the last run.
#
# A credit for each change, and at least one for each 1,000 companies, which are a request. Each line is a change, or the cursor of an
# answer that ends a request's changes, with the requests that are `left` in its run. So the lines say where to go on: a run that was
# killed leaves no gap, and what it has written is not paid again.
set -eu
. "$(dirname "$0")/directory.sh"
[ $# -eq 2 ] || fail "it takes a file to read and one to write"
suppliers=$1
out=$2
most=1000 # without "nifs" a request asks for every company of both lists

nifs_of "$suppliers" >"$work/nifs"
go_on "$out" "{"
requests=$((($(wc -l <"$work/nifs") + most - 1) / most))

# place: the cursor at which the run began, how many of its requests have ended, and the cursor of the one that has not. A run begins at
# the earliest of the last run's, so that a company may move to another request. What is then repeated is dropped by its id.
place() {
  jq --null-input --compact-output '
    reduce inputs as $entry ({begin: null, ended: [], after: null};
      .after = $entry.id
      | if $entry.next == null then . else .ended += [$entry.next] end
      | if $entry.next == null or $entry.left then .
        else {begin: (.ended | min_by(ltrimstr("chg_") | tonumber)), ended: [], after: null} end)' "$out"
}

place >"$work/place"
begin=$(jq .begin "$work/place")
after=$(jq '.after // .begin' "$work/place")
# The last request is asked again if the list became shorter.
index=$(jq --argjson last "$((requests - 1))" '[(.ended | length), $last] | min' "$work/place")
jq --null-input 'reduce (inputs.id // empty) as $id ({}; .[$id] = true)' "$out" >"$work/written"
while [ "$index" -lt "$requests" ]; do
  left=$((requests - index - 1))
  tail -n "+$((index * most + 1))" "$work/nifs" | head -n "$most" | json_list >"$work/list"
  more=true
  while [ "$more" = true ]; do
    jq --compact-output --argjson after "$after" '{after: $after, nifs: .}' "$work/list" >"$work/request"
    call /debts/changes --data-binary "@$work/request" >"$work/answer"
    more=$(jq .more "$work/answer")
    after=$(jq .next "$work/answer")
    # A line for each change. "ended": no longer on the list of that date. It does not say that the debt was paid.
    jq --compact-output --slurpfile written "$work/written" \
      '.data[] | select($written[0][.id] | not)' "$work/answer" >"$work/changes"
    cat "$work/changes" >>"$out"
    jq --raw-output '"\(.nif) \(.kind) \(.change) \(.date)"' "$work/changes"
    [ "$more" = true ] ||
      jq --compact-output --argjson left "$left" '{next} + if $left > 0 then {$left} else {} end' "$work/answer" >>"$out"
  done
  after=$begin
  index=$((index + 1))
done
