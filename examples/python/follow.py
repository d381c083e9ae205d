"""`python3 follow.py SUPPLIERS CHANGES.jsonl` appends what has changed for the companies of a file since the last run.

A credit for each change, and at least one for each 1,000 companies, which are a request. Each line is a change, or the cursor of an
answer that ends a request's changes, with the requests that are `left` in its run. So the lines say where to go on: a run that was
killed leaves no gap, and what it has written is not paid again.
"""
import json
import os

from directory import call, complete_lines, nifs_of, run, two_files

MOST = 1000  # without "nifs" a request asks for every company of both lists


def place_of(entries):
    """The cursor at which the run began, those of its requests that have ended, and the one of the request that has not."""
    begin, ended, after = None, [], None
    for entry in entries:
        after = entry.get("id")
        if after is None:
            ended.append(entry["next"])
            if "left" not in entry:
                # From the earliest on, so that a company may move to another request. What is then repeated is dropped by its id.
                begin, ended = min(ended, key=lambda cursor: int(cursor[4:])), []
    return begin, ended, after


def main():
    suppliers, out = two_files()
    nifs = nifs_of(suppliers)
    entries = [json.loads(line) for line in complete_lines(out, "{")]
    written = {entry.get("id") for entry in entries}
    begin, ended, after = place_of(entries)
    lists = [nifs[start : start + MOST] for start in range(0, len(nifs), MOST)]
    with open(out, "a", encoding="utf-8") as file:
        # The last request is asked again if the list became shorter.
        for index in range(min(len(ended), len(lists) - 1), len(lists)):
            left = len(lists) - index - 1
            after = after or begin
            more = True
            while more:
                page = call("/debts/changes", {"after": after, "nifs": lists[index]})
                for change in page["data"]:
                    if change["id"] in written:
                        continue
                    file.write(json.dumps(change, ensure_ascii=False, separators=(",", ":")) + "\n")
                    # "ended": no longer on the list of that date. It does not say that the debt was paid.
                    print(change["nif"], change["kind"], change["change"], change["date"])
                more = page["more"]
                after = page["next"]
                if not more:
                    end = {"next": after, "left": left} if left else {"next": after}
                    file.write(json.dumps(end, separators=(",", ":")) + "\n")
                file.flush()
                os.fsync(file.fileno())
            after = None


run(main)
