"""`python3 screen.py SUPPLIERS OUT.csv` screens the companies of a file for debts, a credit each.

Each batch is appended to OUT.csv when it is answered. Run it again after it has stopped, however it did: companies that OUT.csv
has are not asked for, nor paid, again.
"""
import csv
import os
import sys

from directory import call, complete_lines, nifs_of, run, two_files

BATCH = 100  # up to 1,000; a batch that a killed run has paid but not written is free for ten minutes
LISTS = ["tax_debt", "social_security_debt"]
HEADER = "nif,status,tax_start,tax_end,tax_date,social_security_start,social_security_end,social_security_date"


def row(item):
    brackets = [(item.get("debts") or {}).get(name) or {} for name in LISTS]
    members = [bracket.get(member) for bracket in brackets for member in ("start", "end", "last_updated")]
    return [item["nif"], item["status"], *members]


def main():
    suppliers, out = two_files()
    done = {line.split(",")[0] for line in complete_lines(out, HEADER)}
    nifs = [nif for nif in nifs_of(suppliers) if nif not in done]
    if not nifs:
        sys.exit(f"{out}: has all of them. Name another file to screen them again")
    with open(out, "a", newline="", encoding="utf-8") as file:
        if not done:
            file.write(HEADER + "\n")
        rows = csv.writer(file, lineterminator="\n")
        for start in range(0, len(nifs), BATCH):
            answer = call("/debts", {"nifs": nifs[start : start + BATCH]})
            # The credits did not suffice for some (429), or the service was too busy (503). The next run asks for them.
            answered = [item for item in answer["data"] if item["status"] not in (429, 503)]
            rows.writerows(row(item) for item in answered)
            file.flush()
            os.fsync(file.fileno())
            for name, date in answer["datasets"].items():
                if date is None:
                    print(f"the list {name} was never imported: no bracket there says nothing", file=sys.stderr)
            refused = [item for item in answer["data"] if item not in answered]
            if refused:
                kind = refused[0]["problem"]["type"].rsplit("/", 1)[-1]
                sys.exit(f"{kind}: stopped after {start + len(answered)} of {len(nifs)} companies")
    print(f"{len(nifs)} companies screened")


run(main)
