"""`python3 companies.py NAME` finds companies by the beginning of their name, and looks up the first one. Costs two credits.

Python 3.8 or newer, its standard library alone.
"""
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

MAX_ATTEMPTS = 4
MAX_WAIT_S = 60
TIMEOUT_S = 40

# Problems that cost no credit and pass by themselves, so that a program may ask again. search-failed and
# company-lookup-failed are not among them: each attempt at those costs a credit.
PASSING = {"rate-limit-exceeded", "service-unavailable", "authentication-failed"}


class Problem(Exception):
    """A failure that the API answered. Programs look at `kind`, never at its texts."""

    def __init__(self, body):
        self.body = body
        self.kind = body.get("type", "").rsplit("/", 1)[-1]
        super().__init__(f"{self.kind or 'no problem document'}: {body.get('detail')}")


def call(path):
    """Answers the JSON of an endpoint. Waits as long as Retry-After says, at most a minute; makes at most four attempts."""
    request = urllib.request.Request(
        os.environ["DIRECTORY_URL"] + "/api/v1" + path,
        headers={"Authorization": "Bearer " + os.environ["DIRECTORY_KEY"]},
    )
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            problem = Problem(body_of(error))
            wait_s = int(error.headers.get("Retry-After", "1"))
            # Credits that are used up may take weeks to come back: no program waits for that.
            if problem.kind not in PASSING or wait_s > MAX_WAIT_S or attempt == MAX_ATTEMPTS:
                raise problem from None
            time.sleep(wait_s)


def body_of(error):
    try:
        return json.load(error)
    except ValueError:
        return {}  # a proxy before the service answered


def main(name):
    # At most 20, and no further pages: a longer beginning of the name finds fewer.
    entries = call("/companies?" + urllib.parse.urlencode({"q": name}))["data"]
    for entry in entries:
        print(entry["nif"], entry["legal_name"])
    if not entries:
        return
    company = call("/companies/" + entries[0]["nif"])["data"]
    debt = company["tax_debt"]
    print(f"{company['title']}, {company['city'] or 'city unknown'}, tax debt {'from %d EUR' % debt['start'] if debt else 'unknown'}")
    usage = call("/usage")["data"]
    requests = usage["quotas"]["requests"]
    print("credits left:", max(0, requests["limit"] - requests["used"]) + usage["credits"])


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "constru")
    except Problem as problem:
        if problem.kind == "unauthorized":
            sys.exit(f"{problem.kind}: set DIRECTORY_KEY to a key that is in force")
        if problem.kind == "monthly-quota-exceeded":
            sys.exit(f"{problem.kind}: no credits until {problem.body['reset']}")
        sys.exit(str(problem))
    except OSError as error:
        sys.exit(f"no answer from {os.environ['DIRECTORY_URL']}: {error}")
