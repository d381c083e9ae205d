"""`python3 resolve.py NAMES.csv OUT.csv` gives the companies of a list their NIFs, a credit for each name that finds one.

The names are the first column of NAMES.csv, whose columns end with commas, semicolons or tabs, as its first row says. OUT.csv gets
a row for each, in their order: the likeliest company, and the evidence for each word of the name. Look at the rows that are not
clear before you trust them. Each batch is written when it is answered. Run it again after it has stopped, however it did: names that
OUT.csv has are not asked for, nor paid, again.
"""
import csv
import io
import os
import re
import sys

from directory import call, complete_lines, run, text_of, two_files

BATCH = 100  # a batch that a killed run has paid but not written is free for ten minutes
HEADER = "name,status,clear,nif,legal_name,evidence"


def names_of(path):
    text = text_of(path)
    if "\ufffd" in text:
        sys.exit(f"{path}: not UTF-8. Save it as UTF-8")
    unquoted = re.sub('"[^"]*"', "", re.split("[\r\n]", text, maxsplit=1)[0])
    # Spreadsheets save with semicolons where a comma is in numbers.
    separator = next((one for one in ";\t" if one in unquoted), ",")
    names, end = [], 0
    lines = io.StringIO(text, newline="").readlines()
    rows = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for row in rows:
            begin, end = end, rows.line_num
            name = " ".join(row[0].split()) if row else ""
            if name:
                names.append(name)
            elif any(cell.strip() for cell in row):
                print("left out, no name:", " ".join("".join(lines[begin:end]).split()), file=sys.stderr)
    except csv.Error:
        sys.exit(f"{path}: a quote is not closed, or text follows it: {lines[end].strip()}")
    names = names[1:] if names and names[0].lower() in ("name", "nome", "legal_name") else names
    if not names:
        sys.exit(f"{path}: no name in its first column")
    return names


def row(name, item):
    candidates = item.get("candidates", [])
    first = candidates[0] if candidates else {"nif": "", "legal_name": "", "evidence": []}
    reasons = []
    for word, one in zip(item.get("words", []), first["evidence"]):
        found = [one] if isinstance(one, str) else list(*one.items())
        reasons.append(" ".join([word["word"], *found]))
    clear = "true" if item.get("clear") else "false"
    return [name, item["status"], clear, first["nif"], first["legal_name"], "; ".join(reasons)]


def main():
    source, out = two_files()
    lines = complete_lines(out, HEADER)
    names = names_of(source)
    done = [cells[0] for cells in csv.reader(lines[1:])]
    if names[: len(done)] != done:
        sys.exit(f"{out}: its names are not the first ones of {source}. Write to another file")
    names = names[len(done) :]
    unclear = 0
    with open(out, "a", newline="", encoding="utf-8") as file:
        if not lines:
            file.write(HEADER + "\n")
        rows = csv.writer(file, lineterminator="\n")
        for start in range(0, len(names), BATCH):
            batch = names[start : start + BATCH]
            items = call("/resolutions", {"names": batch})["data"]
            # Names for which the credits did not suffice come last; the service was too busy for others. The next run asks for them.
            answered = next((n for n, item in enumerate(items) if item["status"] in (429, 503)), len(items))
            unclear += sum(not item.get("clear") for item in items[:answered])
            rows.writerows(row(name, item) for name, item in zip(batch[:answered], items))
            file.flush()
            os.fsync(file.fileno())
            if answered < len(items):
                kind = items[answered]["problem"]["type"].rsplit("/", 1)[-1]
                sys.exit(f"{kind}: stopped after {start + answered} of {len(names)} names")
    print(f"{len(names)} names resolved, {unclear} to look at")


run(main)
