"""Shared by the example programs: a call of the API that waits and asks again, and the text of a problem for a person.

Python 3.8 or newer, its standard library alone.
"""
import json
import os
import sys
import time
import urllib.error
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


def call(path, body=None):
    """Answers the JSON of an endpoint. Waits as long as Retry-After says, at most a minute; makes at most four attempts."""
    headers = {"Authorization": "Bearer " + os.environ["DIRECTORY_KEY"], "Content-Type": "application/json"}
    # A body whose answer was lost is not charged again within ten minutes.
    headers["Idempotency-Key"] = "example"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["DIRECTORY_URL"] + "/api/v1" + path, data, headers)
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


def run(main):
    """Runs a program. A problem is one line, and the exit code is 1."""
    try:
        main()
    except Problem as problem:
        if problem.kind == "unauthorized":
            sys.exit(f"{problem.kind}: set DIRECTORY_KEY to a key that is in force")
        if problem.kind == "monthly-quota-exceeded":
            sys.exit(f"{problem.kind}: no credits until {problem.body['reset']}")
        if problem.kind == "changes-expired":
            sys.exit(f"{problem.kind}: screen the list again, then follow the changes into a new file")
        sys.exit(str(problem))
    except OSError as error:
        sys.exit(f"no answer from {os.environ['DIRECTORY_URL']}: {error}")


def nifs_of(path):
    """The first number of nine digits in each line of a file, each once: a list, or a table of suppliers."""
    nifs = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            for word in "".join(c if c.isdigit() else " " for c in line).split():
                if len(word) == 9:
                    nifs[word] = True
                    break
    return list(nifs)


def complete_lines(path):
    """The lines of a file that a run before this one has written. The last one is cut off if that run was killed: it is removed."""
    try:
        with open(path, "rb+") as file:
            data = file.read()
            end = data.rfind(b"\n") + 1
            file.truncate(end)
            return data[:end].decode().splitlines()
    except FileNotFoundError:
        return []
