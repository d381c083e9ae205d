"""`python3 follow.py SUPPLIERS CHANGES.jsonl` appends what has changed for the companies of a file since the last run.

A credit for each change, and at least one. Each line is a change, or the cursor of an answer without one, so the last line says
where to go on: a run that was killed leaves no gap, and what it has written is not paid again.
"""
import json
import os
import sys

from directory import call, complete_lines, nifs_of, run


def cursor_of(line):
    entry = json.loads(line)
    return entry.get("next") or entry["id"]


def main():
    suppliers, out = sys.argv[1], sys.argv[2]
    nifs = nifs_of(suppliers)
    lines = complete_lines(out)
    after = cursor_of(lines[-1]) if lines else None
    with open(out, "a", encoding="utf-8") as file:
        more = True
        while more:
            # At most 1,000 companies a request. Without "nifs" it is every company of both lists.
            page = call("/debts/changes", {"after": after, "nifs": nifs})
            for change in page["data"]:
                file.write(json.dumps(change, ensure_ascii=False, separators=(",", ":")) + "\n")
                # "ended": no longer on the list of that date. It does not say that the debt was paid.
                print(change["nif"], change["kind"], change["change"], change["date"])
            more = page["more"]
            after = page["next"]
            if not more:
                file.write(json.dumps({"next": after}, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())


run(main)
