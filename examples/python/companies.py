"""`python3 companies.py NAME` finds companies by the beginning of their name, and looks up the first one. Costs two credits."""
import sys
import urllib.parse

from directory import call, run


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "constru"
    # At most 20, and no further pages: a longer beginning of the name finds fewer.
    entries = call("/companies?" + urllib.parse.urlencode({"q": name}))["data"]
    for entry in entries:
        print(entry["nif"], entry["legal_name"])
    if not entries:
        return
    company = call("/companies/" + entries[0]["nif"])["data"]
    debt = company["tax_debt"]
    print(f"{company['title']}, {company['city'] or 'city unknown'}, tax debt {'from %d EUR' % debt['start'] if debt else 'unknown'}")
    print("credits left:", call("/usage")["data"]["left"])


run(main)
