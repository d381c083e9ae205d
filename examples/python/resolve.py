"""`python3 resolve.py NAMES.csv OUT.csv [--heading|--no-heading] [--clear-only]` gives the companies of a list their NIFs, a credit for
each name that finds one. With `--clear-only` names that are not clear cost nothing, and have no likeliest company.

The names are the first column of NAMES.csv, whose columns end with commas, semicolons or tabs, as its first row says. OUT.csv gets
each row as it is, in their order, and seven columns more: the NIF if the name is clear, else that of the likeliest company, and the
evidence for each word of the name. Look at the rows that are not clear, and compare names that have `extra` words. Each batch is
written when it is answered. Run it again after it has stopped, however it did: rows that OUT.csv has are not asked for, nor paid, again.
"""
import csv
import io
import os
import re
import sys
import unicodedata

from directory import call, run, text_of, two_files

BATCH = 100  # a batch that a killed run has paid but not written is free for ten minutes
COLUMNS = ["nif", "likeliest", "legal_name", "clear", "extra", "evidence", "status"]
# A first row is a heading if its name is one of these, without accents.
HEADINGS = (
    "nome, name, empresa, company, fornecedor, supplier, cliente, customer, entidade, entity, firma, designacao, denominacao, "
    "denominacao social, razao social, legal_name, legal name, nome da empresa, nome do fornecedor, nome do cliente, nome da entidade"
).split(", ")


def is_heading(name):
    letters = unicodedata.normalize("NFKD", name.lower())
    return "".join(one for one in letters if not unicodedata.combining(one)) in HEADINGS


def table_of(path, option):
    """The separator, the heading of OUT.csv, and each name with the beginning of its row there: its own row, as wide as the widest."""
    text = re.sub("\r\n?", "\n", text_of(path))
    if "\ufffd" in text:
        sys.exit(f"{path}: not UTF-8. Save it as UTF-8")
    unquoted = re.sub('"[^"]*"', "", text.split("\n", 1)[0])
    # Spreadsheets save with semicolons where a comma is in numbers.
    separator = next((one for one in ";\t" if one in unquoted), ",")
    table, end = [], 0
    lines = io.StringIO(text).readlines()
    rows = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for cells in rows:
            row = "".join(lines[end : rows.line_num]).rstrip("\n")
            end = rows.line_num
            name = " ".join(cells[0].split()) if cells else ""
            if name:
                table.append((name, row, len(cells)))
            elif any(cell.strip() for cell in cells):
                print("left out, no name:", " ".join(row.split()), file=sys.stderr)
    except csv.Error:
        sys.exit(f"{path}: a quote is not closed, or text follows it: {lines[end].strip()}")
    if table and (option == "--heading" or (option is None and is_heading(table[0][0]))):
        print("heading:", table[0][0], file=sys.stderr)
    else:
        print("no heading", file=sys.stderr)
        table.insert(0, ("name", "name", 1))
    if len(table) == 1:
        sys.exit(f"{path}: no name in its first column")
    width = max(cells for _, _, cells in table)
    (_, heading), *rest = [(name, row + separator * (width - cells + 1)) for name, row, cells in table]
    return separator, heading + separator.join(COLUMNS), rest


def written_lines(path, source, begins):
    """How many of these lines runs before this one have written. The last one is removed if a killed run has cut it off."""
    count = end = 0
    with open(path, "ab+") as file:
        file.seek(0)
        data = file.read()
        while end < len(data):
            begin = begins[count].encode() if count < len(begins) else b"\n"
            found = data[end : end + len(begin)]
            if not begin.startswith(found):
                sys.exit(f"{path}: its rows are not the first ones of {source}. Write to another file")
            # A quoted cell of NAMES.csv may have line breaks; the columns after it have none.
            following = data.find(b"\n", end + len(begin)) + 1
            if following == 0:
                file.truncate(end)
                break
            count, end = count + 1, following
    return count


def columns_of(item, separator):
    candidates = item.get("candidates", [])
    first = candidates[0] if candidates else {"nif": "", "legal_name": "", "extra": "", "evidence": []}
    reasons = []
    for word, one in zip(item.get("words", []), first["evidence"]):
        found = [one] if isinstance(one, str) else list(*one.items())
        reasons.append(" ".join([word["word"], *found]))
    nifs = [first["nif"], "", first["legal_name"], "true"] if item.get("clear") else ["", first["nif"], first["legal_name"], "false"]
    cells = [*nifs, str(first["extra"]), "; ".join(reasons), str(item["status"])]
    quoted = ['"' + cell.replace('"', '""') + '"' if '"' in cell or separator in cell else cell for cell in cells]
    return separator.join(quoted)


def main():
    options = [sys.argv.pop() for _ in range(2) if sys.argv[-1] in ("--heading", "--no-heading", "--clear-only")]
    option = next((one for one in options if one != "--clear-only"), None)
    source, out = two_files()
    separator, heading, rows = table_of(source, option)
    written = written_lines(out, source, [heading, *(begin for _, begin in rows)])
    rows = rows[max(written - 1, 0) :]
    unclear = 0
    with open(out, "a", newline="", encoding="utf-8") as file:
        if written == 0:
            file.write(heading + "\n")
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            items = call("/resolutions", {"names": [name for name, _ in batch], "clear_only": "--clear-only" in options})["data"]
            # Names for which the credits did not suffice come last; the service was too busy for others. The next run asks for them.
            answered = next((n for n, item in enumerate(items) if item["status"] in (429, 503)), len(items))
            unclear += sum(not item.get("clear") for item in items[:answered])
            file.writelines(begin + columns_of(item, separator) + "\n" for (_, begin), item in zip(batch[:answered], items))
            file.flush()
            os.fsync(file.fileno())
            if answered < len(items):
                kind = items[answered]["problem"]["type"].rsplit("/", 1)[-1]
                sys.exit(f"{kind}: stopped after {start + answered} of {len(rows)} names")
    print(f"{len(rows)} names resolved, {unclear} to look at")


run(main)
