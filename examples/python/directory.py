"""Shared by the example programs: a call of the API that waits and asks again, and the text of a problem for a person.

Python 3.8 or newer, its standard library alone.
"""
import email.utils
import http.client
import json
import math
import os
import re
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


NO_PROBLEM = "no answer of the service: is DIRECTORY_URL right, and is no proxy in between?"


class Problem(Exception):
    """A failure that the API answered. Programs look at `kind`, never at its texts."""

    def __init__(self, body):
        self.body = body
        self.kind = body.get("type", "").rsplit("/", 1)[-1]
        super().__init__(f"{self.kind}: {body.get('detail')}" if self.kind else NO_PROBLEM)


def call(path, body=None):
    """Answers the JSON of an endpoint. Waits as long as Retry-After says, at most a minute; makes at most four attempts.

    A lost answer is asked for again: with a body for nothing, because the Idempotency-Key is the same; without one only once.
    """
    headers = {"Authorization": "Bearer " + os.environ["API_KEY"], "Content-Type": "application/json"}
    # A body whose answer was lost is not charged again within ten minutes.
    headers["Idempotency-Key"] = "example"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["DIRECTORY_URL"] + "/api/v1" + path, data, headers)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                return json.load(response)
        except json.JSONDecodeError:
            raise Problem({}) from None
        except urllib.error.HTTPError as error:
            problem = Problem(body_of(error))
            wait_s = seconds_of(error.headers.get("Retry-After", "1"))
            # Credits that are used up may take weeks to come back: no program waits for that.
            if problem.kind not in PASSING or wait_s > MAX_WAIT_S or attempt == MAX_ATTEMPTS:
                raise problem from None
        except (OSError, http.client.HTTPException) as error:
            if attempt == (2 if body is None else MAX_ATTEMPTS):
                raise
            if body is None:
                print(f"no answer: {error}. Asked once more, which costs again", file=sys.stderr)
            wait_s = 1
        time.sleep(wait_s)


def seconds_of(retry_after):
    """A proxy before the service may send a date."""
    if retry_after.isdigit():
        return int(retry_after)
    try:
        return max(0, math.ceil(email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()))
    except (TypeError, ValueError):
        return 1


def body_of(error):
    try:
        body = json.load(error)
    except ValueError:
        return {}  # a proxy before the service answered
    return body if isinstance(body, dict) else {}


def run(main):
    """Runs a program. A problem is one line, and the exit code is 1."""
    if not os.environ.get("DIRECTORY_URL") or not os.environ.get("API_KEY"):
        sys.exit("set DIRECTORY_URL and API_KEY")
    try:
        main()
    except Problem as problem:
        if problem.kind == "unauthorized":
            sys.exit(f"{problem.kind}: set API_KEY to a key that is in force")
        if problem.kind == "monthly-quota-exceeded":
            sys.exit(f"{problem.kind}: no credits until {problem.body['reset']}")
        if problem.kind == "changes-expired":
            sys.exit(f"{problem.kind}: screen the list again, then follow the changes into a new file")
        sys.exit(str(problem))
    except (OSError, http.client.HTTPException) as error:
        if getattr(error, "filename", None):
            sys.exit(f"{error.filename}: {error.strerror}")
        sys.exit(f"no answer from {os.environ['DIRECTORY_URL']}: {error}")


def two_files():
    """The file to read and the one to write."""
    if len(sys.argv) != 3:
        sys.exit("it takes a file to read and one to write")
    return sys.argv[1:]


def text_of(path):
    """The text of a file in UTF-8, or in UTF-16 with its mark, as spreadsheets save it. Digits are right in any other encoding, too."""
    with open(path, "rb") as file:
        data = file.read()
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", errors="replace")
    if "\0" in text:
        sys.exit(f"{path}: not UTF-8, nor UTF-16 with its mark. Save it as UTF-8")
    return text


# Nine digits, with the separators that the API takes. A tab is none, because it separates columns.
NINE_DIGITS = re.compile("(?<![0-9])(?=([0-9](?:[ \u00a0\u202f.-]*[0-9]){8})(?![0-9]))")


def is_valid(nif):
    rest = sum(int(digit) * (9 - place) for place, digit in enumerate(nif[:8])) % 11
    return int(nif[8]) == (0 if rest < 2 else 11 - rest)


def nifs_of(path):
    """The first valid NIF of each row, each once: of a list, or of a table of suppliers. A row that has none, or several, is told."""
    nifs = {}
    for number, row in enumerate(re.split("\r\n|\r|\n", text_of(path))):
        found = dict.fromkeys(filter(is_valid, (re.sub("[^0-9]", "", nine) for nine in NINE_DIGITS.findall(row))))
        nifs.update(dict.fromkeys(list(found)[:1]))
        if len(found) > 1:
            print(f"only the first NIF is taken of: {row}", file=sys.stderr)
        is_header = number == 0 and not re.search("[0-9]", row)
        if not found and row.strip() and not is_header:
            print(f"left out, no valid NIF: {row}", file=sys.stderr)
    if not nifs:
        sys.exit(f"{path}: no valid NIF in it")
    return list(nifs)


def complete_lines(path, begins):
    """The lines of a file that a run before this one has written. The last one is cut off if that run was killed: it is removed."""
    try:
        with open(path, "rb+") as file:
            data = file.read()
            if data and not data.startswith(begins.encode()):
                sys.exit(f"{path}: not written by this program")
            end = data.rfind(b"\n") + 1
            file.truncate(end)
            return data[:end].decode().splitlines()
    except FileNotFoundError:
        return []
