/**
 * The promises of the documents for customers and operators, and the tests that fail when one is broken. A row is words of the document
 * (without its marks of links and code), and after each arrow a folder of test/ and the beginning of a test's name there.
 *
 * `bun test/promises.ts`, a part of the lint, names the rows whose words or tests are gone. A promise that is withdrawn loses its row, and
 * a test that goes leaves its rows to the one that states the rule now.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const API = `
The endpoints are below /api/v1, all with Authorization → api: 401 unauthorized
600 requests a minute for an address → dashboard/reference: a network has 600 requests a minute
The answers below are those of a test key → demo: the answers of docs/api.md are those of the demo's test key

At most 20 entries, without further pages → companies/search: of more than 20 exact matches the first 20
begins with the query's → companies/search: every beginning of a name answers what the oracle answers
Nine digits in the query → companies/search: nine digits in a run are a NIF, whatever stands around them
A search that fails is search-failed → api: 500 search-failed costs a token and a credit
An empty answer costs its credit → api: %s costs a token and its credit
from one directory, the current one → companies/directory: %s: no answer mixes two generations → api: once an import is done no instance answers

At most 20 companies whose name has every word → companies/matches: any words of any names answer what the oracle answers → api: at most 20 entries
Answers, problems, normalization and NIF queries → api: a query finds names by any words, in the envelope → companies/matches: the query of a text
Names that begin with the query come first → companies/matches: names that begin with the query come first
X-Query-Words: 8 of 11 → api: a query of over eight words is asked by its first eight

Up to 100 names for one token → api: takes \${most} items → api: costs one token, and one credit an item
typing errors, other word order → companies/resolve: finds real spellings
at most five candidates, with the evidence → companies/resolve: answers as the rule says → companies/resolve: equals the plain passes
the first candidate alone has this name → companies/resolve: %s with the weights %j beside %j: clear is
A text with a NIF is that NIF → api: a text with a NIF is that NIF
answer is charged after the reads → api: nothing is reserved
also if you have left → metering/admission: is charged for reads that are done
as many names have a candidate as you have credits left → api: credits are for names with a candidate
free, and the others → api: credits are for names with a candidate
refused before the reads → companies/resolve: a list for which there seem to be no credits reads nothing
charges clear names only → api: with clear_only the names that are not clear cost nothing → api: a request costs at least one credit
one list of an account at a time → companies/resolve: an account's second list waits for its first → companies/resolve: names of all lists together rest
waits over 3 s for → companies/resolve: a list that waits
names not begun after 8 s → companies/resolve: names that have not begun

first maximal run of exactly nine ASCII digits → companies: reads a NIF in a query
Any number of spaces, tabs, no-break spaces → companies: agrees with removing separators first
A path takes the nine digits and separators only → api: %s by %s takes a NIF with separators, with PT unless it is a path

NFKD, marks removed, lower case → companies: agrees with an oracle for any text
Every run of characters other than letters and digits → companies: agrees with an oracle for every code point
Trailing legal forms are removed → companies: %j is matched as %j
Legal forms are lda → companies: %j is matched as %j
A query that normalizes to nothing → companies/search: what normalizes to nothing finds nothing
A query that ends inside a legal form → companies/search: a query that ends inside a legal form

Names whose normalized form equals the query's → companies/search: exact matches come first
compared by code point), then by NIF → companies/search: order is by code point → companies/search: of more than 20 exact matches

All fields are always present → api: a lookup: result and data, every field present
not carried over from an older record → companies/lookup: what a refresh does not supply is empty
X-Record-Source says where the record is from → api: a lookup: result and data → companies/lookup: after a fault of nif.pt
/lookups has neither → api: has one element an item
has name and address only → companies/sources: of %s with %j has the details
for five minutes without a source → companies/lookup: for five minutes after a definite → companies/lookup: a definite "not found" is a 404
moves on to the fallback → companies/lookup: after a fault of nif.pt → companies/sources: a provider that fails by $fault
VIES's "invalid" → companies/sources: %s: %j is %s → companies/lookup: a fault of nif.pt and "invalid"
a provider fault is never a 404 → companies/lookup: a fault of nif.pt and "invalid" of VIES is a 502, never a 404

younger than six days → companies/lookup: a record younger than six days → companies/lookup: a record of six days is refreshed
No request forces a refresh → companies/lookup: a record younger than six days
answers within 11 s of its arrival → companies/lookup: a lookup answers within 2 × PROVIDER_TIMEOUT_MS + 1 s
If this service fails or is late, not the sources → companies/lookup: a source answers at once and Postgres hangs
share the outcome, failure included → companies/lookup: shares a %s as well
ten refreshes a day (UTC) → companies/lookup: begin again the next day, and grow with
for every two requests a minute → companies/lookup: a Free account has ten
bounds all accounts in a day (UTC) → companies/lookup: Free accounts have half
Beyond a bound a lookup without a fresh record → companies/lookup: beyond them a lookup is a 503 until midnight
leads to midnight (UTC), or within the minute → companies/lookup: beyond them a lookup is a 503 until midnight → companies/lookup: a Free account has ten
its 429 or 403 → companies/lookup: an account or a key with nothing left is refused for that first
counts once if a source is asked → companies/lookup: count questions, not lookups → companies/lookup: are shared by the API and the dashboard's Try it

Up to 100 NIFs (nifs) for one token → api: takes \${most} items
is the data of a single lookup → api: has one element an item
without a fresh record are refreshed → api: are ten at most → api: that no provider answers end within the bound
and those beyond a bound → companies/lookup: is not charged, alone and in a list

can be sent again within ten minutes → api: POST %s is answered again → metering/credits: after ten minutes it is a new request → metering/simulation: some thousand histories with faults
1 to 64 characters of [A-Za-z0-9_-] → api: by %s: %s takes an Idempotency-Key if it has a body
Any other value is a validation → api: by %s: %s takes an Idempotency-Key if it has a body
path and body (of /mcp: tool and arguments) is the same request → api: POST %s is answered again
a tool's call → api: another body, path, key or account
charged for what its first charged sending got → metering/credits: sendings of one request → api: a body that is not valid, or can not be read → metering/credits: that is sent with two keys at once
A repetition costs a token and no credit → api: POST %s is answered again
waits up to 20 s for another sending → metering/credits: a second sending waits for the first one → metering/credits: a sending that waits for too long
refused for lack of credits only if no earlier one was charged → metering/credits: a request that needs more when it is sent again → metering/credits: a request that an account without credits sends
A repetition answers as many items → api: a request that was paid in part gets that part again → api: a repetition of POST /debts/changes
The others stay → api: a request that was paid in part → api: a repetition by another key of the account
Unused credits of the charged sending come back → api: POST %s is answered again → metering/credits: a second sending waits for the first one
screens the same list again for nothing → dashboard/screen: a paid list is free for ten minutes

Up to 1,000 companies against the lists → api: takes \${most} items
has the date of each list, files → companies/datasets: an import of 0.1.0
An element has debts, with the brackets → api: the answer has one element an item, in the order asked, repeated
A null bracket is not "no debt" → api: the answer has one element an item, in the order asked, repeated
A list whose date is null was never imported → api: before any dataset was imported

oldest first, at most 100 for one token → api: 250 changes are three pages
Begin with "after": null → api: 250 changes are three pages
choose companies and lists → api: kinds and nifs leave the others out
A service with DEBT_CHANGES=off → service: when it is %s, the endpoint answers
A change has id, at, kind, nif → api: a change says what was before
no longer on the list of that date → api: a change says what was before
The order is that of commit → companies/debts: a reader that goes on from next sees every change once
misses no change and gets none twice → companies/debts: a reader that goes on from next sees every change once
answer without changes has → api: without any change the answer is empty
With credits for some changes only → api: each change costs a credit
The first import of a list makes no changes → api: the first dataset of a kind writes no change
Changes are kept for 90 days → companies/debts: old changes are removed in small steps
An older cursor is a free changes-expired → api: a cursor before changes that are no longer kept
one bad NIF, or a cursor of the future → api: a cursor that was never given out
are in no change → api: natural persons are in the dataset and in no change

one element an item, in the order asked → api: has one element an item → api: credits for some items only
repeated items are answered and charged each time → api: takes \${most} items
costs one credit, too; one that is service-unavailable → metering/admission: of a batch lookup each item with a problem is counted → dashboard: of %s with an item %s
the first get them → api: credits for some items only
key-budget-exceeded or key-budget-spent, if → api: a budget of a %s: a list gets as many items
the whole answer is that 429 (or 403) → api: no credit at all → api: a budget of a %s
has limit and reset, service-unavailable has retryAfter → api: credits for some items only → companies/lookup: is not charged, alone and in a list
A NIF is a number of nine digits → api: POST %s takes a number of nine digits as a NIF
at most 64 KiB, arrives within 10 s → api: a body of POST %s that is no JSON object → http: a body has ten seconds
Any other is a validation that costs the token → api: each is a validation that names its member → api: a member that the schema of POST %s does not name

left is what the account can still spend → api: $plan, used $used of $limit
key_left is what is left of the key's budget → api: a tool tells a model of a budget of a %s what is left
price, if the operator has set one → dashboard: what happens at 0 stands beside what is left
date of the period's last instant → metering/usage: a period that ends in the middle of a day
is null for Plus, as specified → metering/usage: whole, to the letter
lapsed Plus subscription is free → metering/usage: after a boundary used is 0
The key's name, start, end → api: GET /key says what the holder of a key may know

calls that cost credits, gave some back → api: it has what was charged → api: a page has 1,000 rows
Begin without after → api: a reader goes on from next
Rows are only added, in the order of commit → metering/activity: a reader that goes on from last gets each row once
are those of the dashboard, which keeps them → metering/simulation: a real Postgres ends as the model does → metering/simulation: two processes at once on a real Postgres
kind is charge → api: it has what was charged
An answer is a problem → api: the free item of a list, and a key that has ended
reason names what was wrong → api: each name of what can be wrong is written by an answer
The rows of a call have the same call → api: it has what was charged → metering/activity: a charge has the time, the key
is the X-Request-Id, and may repeat → metering/activity: a charge has the time, the key
key is null for calls of the dashboard → metering/activity: a charge has the time, the key
gets no row twice, and misses no charge → metering/activity: a reader that goes on from last gets each row once
at most 20 answers of an account every five seconds → metering/activity: notes that wait in vain for their turn
Rows are kept ACTIVITY_DAYS → metering/activity: whole days go once they are over → api: with ACTIVITY_DAYS=0
An older cursor is a free activity-expired → api: a reader goes on from next
that is no next is a free validation → api: a reader goes on from next
A key with some permissions, but not activity → api: GET /activity has the rows of the account → api: a test key gets the rows of its world

have their number of companies and these → companies/datasets: each kind of debts has its own date
a list that was never imported is null → companies/datasets: nothing was imported
updated is when the directory was last imported → companies/datasets: an import of the same rows says → companies/datasets: an import says when
SHA-256 and size of the imported bytes → companies/datasets: file is the bytes as read
rows is the SHA-256 of all rows → companies/datasets: a directory has the last file and all rows
in another order or form → companies/datasets: file is the bytes as read → companies/datasets: a directory has the last file
null means that a hash is not known → companies/datasets: an import of 0.1.0
every request answers from invented companies → companies/test-world: no source is asked → companies/test-world: %s answers %s at will

A failure is application/problem+json → api: %s costs a token and its credit → dashboard/sign-in: an address without a page gives
opens a page with the cause → http: %s has a page with cause and fix
At a free endpoint every problem is free → http: %s: the page of the problem says its cost too → metering/admission: each error answer to a known caller is counted
need no key → api: 404 not-found and 405 method-not-allowed
Allow → api: 404 not-found and 405 method-not-allowed → mcp: %s is a 405 with Allow
service-unavailable: Postgres is away → failures: without an index searches, matches and resolutions → failures: no key can be looked up
has buy, the address where → dashboard: a problem for want of credits has the address

It carries WWW-Authenticate: Bearer → api: 401 unauthorized → api: the scheme of the key is matched → dashboard/connections: a 401 at /mcp leads to it
Without a key of the scheme Bearer → api: 401 unauthorized
Every key that is not valid, however short → api: 401 unauthorized
A request passes these stages → api: 401 unauthorized → api: 429 rate-limit-exceeded → api: 429 monthly-quota-exceeded → api: %s: the refusal takes a token
After a body, key and permission are looked at again → api: while bodies are on their way
At /mcp the body is read before the permission → api: %s: a key without its right has an error of the tool
refuses a request with a key before it looks → metering/admission: an overloaded service refuses every request
Try again after authentication-failed → failures: no key can be looked up → api: 429 rate-limit-exceeded
is a bare 400; a path of over 1,000 characters → service: every path refuses a Host → service: the router gets none in place of a long parameter
On one connection wait for each answer → api: a connection on which requests don't wait

RateLimit-Limit, -Remaining and -Policy → api: %s costs a token and its credit → metering/rate-limit: with tokens left, Reset
each is the tighter of both → api: a key beyond its share is refused
answer from the stage of the token on → http: says of each status whether it has RateLimit headers
X-Request-Id names a request in the log → http: the log has one line a request → http: a key is replaced
X-Credits of every answer after the stage of the key → api: by %s: answers and bad input of %s → api: by %s: refusals of %s
A refund is stored before its answer is sent → metering/credits: a refund ends when it is stored, or after 2 s
keeps the credits charged → failures: kill -9 under load loses no credit
After 30 s another sending may use → metering/credits: was charged: the next one finds its charge → metering/credits: stays charged when another sending has claimed
Cache-Control: private, no-store → http: every answer of the API is JSON in UTF-8 whatever the caller accepts

ignores members and headers that it does not know → http: every answer is open
Never changed below /api/v1 → api: a lookup: result and data → api: a search: data and error → api: %s costs a token
a key keeps its form → metering/keys: a key is svc_ and 40 characters

Free has 20 requests a minute and 500 credits → api: usage of a Free account → metering/usage: whole, to the letter → metering/accounts: Free begins where the account became Free
All keys of an account share one bucket → api: an empty bucket of the account refuses a key → metering/rate-limit: a minute of steady use
Purchased credits are spent after the included ones → api: costs one token, and one credit an item; included credits go first
An account can stop at its allowance → metering/credits: calls of an account that keeps its purchased credits
Credits count in the period → metering/credits: a plan changes while the call waits
`;

const MEMBERS = `
are in force on every instance within 5 seconds → metering/keys: \${what}: within 5 s where the notification is lost → api: the rights of a key that is known change within 5 s → api: each change costs a credit
A bucket keeps its tokens → metering/rate-limit: a bucket that is full again keeps just its tokens → metering/rate-limit: computes what bucket.ts computes
A plan change opens a new period → metering/accounts: to Plus counts periods from its start
anchors the calendar months of Plus → metering/accounts: an anchor on the 31st → metering/accounts: with a start in the future
From --until on the account is Free → metering/credits: from the lapse on the account is Free → dashboard/usage: the end of Plus is said from 7 days
stops at its allowance with monthly-quota-exceeded → metering/credits: calls of an account that keeps its purchased credits → dashboard/usage: purchased credits are switched off
keys answer 401, and its sessions end → api: 401 unauthorized → dashboard/auth: suspending an account ends the sessions

Free has room for 2 keys and creates at most 20 → metering/keys: %s creates %d keys in 24 hours → metering/keys: of all changes at once for the last place → metering/keys: Plus has room for 10,000
Revoked and expired keys take no room → metering/keys: %s makes no ended key work beside as many
A rotation keeps the key's id → metering/keys: keeps id, name and expiry → metering/keys: is refused for revoked and unknown keys
The previous secret works for a day → platform/terminal: the overlap of a rotation is a day → metering/keys: never prolongs an earlier secret
Secrets of several rotations work → metering/keys: five at once leave every secret working → metering/keys: ends the previous secret at the end of its overlap
An expired key gets a new end if there is room → metering/keys: a key that expires while its new end waits → dashboard/keys: an expired key shows since when
last use is kept to the minute → metering/notes: uses are written to the minute
A test key takes no room → metering/keys: an account has five test keys

in the dashboard under Keys → dashboard/keys: a new key gets the budget and the rights of its form → platform/terminal: a budget, rights and a share
in force within 5 seconds → api: the rights of a key that is known change within 5 s
A key never spends more than its budget → metering/credits: calls of a key with a budget → metering/simulation: some thousand histories
budget is {credits, per, used, resets} → api: a budget of a %s: a list
per is day or month → metering/credits: of %s is followed by one with a whole budget
also before it had one → metering/credits: counts what comes back of an earlier charge
is exact at once → metering/credits: is seen by a charge and a refund that began before it → metering/credits: counts the calls that did not know it yet
Beyond it a call is a free → api: a budget of a %s: a list
the lower bound refuses → metering/simulation: a real Postgres ends as the model does → api: the lesser of account and key
Refunds reach the account, and the key → metering/simulation: a real Postgres ends as the model does → metering/credits: what comes back by %s after the window
only lists some of search → api: %s: a key with its right is answered → api: each right has a route
are open to every key → api: each right has a route or is known to come
a call is a free not-permitted → api: %s: the refusal takes a token → api: tools/list has the tools that a key may call
sees nothing of its account → api: a key with some rights sees nothing → api: %s: a key without its right
A test key takes rights and a share, but no budget → dashboard/keys: a test key has rights and a share → api: a test key has rights, too
is the most that the key takes → api: a key beyond its share is refused
takes a token of both buckets or of neither → api: a key beyond its share is refused → metering/rate-limit: two processes with 16 requests
A share reserves nothing → api: /usage stays the account’s
says in scope whose limit refused → api: an empty bucket of the account refuses → api: a key beyond its share
rateLimit of GET /usage → api: /usage stays the account’s
share one bucket of half its rate → dashboard/connections: all connections share half
A connection from before version 0.2.0 → dashboard/connections: all connections share half

An account has owners and members, at most 100 → dashboard/account: an account has at most a hundred → dashboard/account: the last owner stays
Owners invite (with SMTP_URL → dashboard/account: an owner invites by mail → dashboard/account: a suspended account invites nobody → dashboard/account: an owner changes the role → dashboard/account: an owner renames
do all else → dashboard/account: a member can neither invite → metering/accounts: owners and operators make changes
A user belongs to one account → dashboard/account: of a removal, a first request → dashboard/account: an invitation to an address of another account
An invitation grants the role written in it → dashboard/account: an owner invites by mail
a present member keeps the role they had → dashboard/account: an invitation without a role keeps the role
during a suspension → dashboard/account: an invitation is accepted during a suspension
Pending invitations to and by a member end → dashboard/account: an owner who becomes %s → dashboard/account: makes links and invitations to the old address dead
chosen behind its link, which then signs in, once → dashboard/sign-in: asks for no password → dashboard/sign-in: from before mail
one of ten backup codes → dashboard/sign-in: a sign-in wants the password, then a code → dashboard/sign-in: backup codes have no letters
password reset does not lead past it → dashboard/sign-in: neither a reset of the password
lock it for 15 minutes, then twice as long → dashboard/sign-in: five wrong codes → dashboard/sign-in: each lock is twice as long
want the member's password → dashboard: in the forms of members → dashboard/sign-in: new backup codes
has these events → dashboard/account-data: the history is everything that changed the account → dashboard/auth: the ledger has the first sign-in of a day

members with a confirmed address get a mail → dashboard/mails: a mail about %s goes to no member
when 80% and when 100% → dashboard/mails: each member gets one mail at 80% → dashboard/mails: of two thresholds
when a key has spent its budget → dashboard/mails: a member has one mail when a key has spent → dashboard/mails: each month has its own mail → dashboard/mails: a budget of a day
a day before a key ends → dashboard/mails: a member has one mail 7 days before a key → dashboard/mails: a member with very many keys → dashboard/mails: a connection has a mail
7 days before Plus ends → dashboard/mails: a member has one mail 7 days before the plan ends
A mail is sent once two runs → dashboard/mails: credits that are back at the next run → dashboard/mails: a mail about %s goes to no member

Every mail is in both languages → dashboard/mails: is in both languages → dashboard/mails: names the account to a member
gets no text that a customer typed → dashboard/mails: names the account to a member → dashboard/account: the mail of an invitation names
sends mails about its suspension and about security only → dashboard/mails: is sent by a suspended account only
A member has a mail after each change → dashboard/sign-in: a new password is told by mail → dashboard/account: changes when the link → dashboard/sign-in: it is set up by a picture → dashboard/sign-in: wrong codes that meet
at most five mails an hour for each purpose → dashboard/sign-in: no more than five mails → dashboard/account: of one member can be asked for five times → dashboard/account: the invitations of other accounts
are answered alike → dashboard/sign-in: no more than five mails

their credits, too, by day (UTC), key and kind → metering/notes: answers are told apart → metering/notes: counts are kept for 13 months → dashboard/usage: calls and errors of a key in 30 days
ended over 30 days ago → metering/notes: a secret that is refused counts → metering/notes: 401s of keys that ended → failures: SIGTERM: what runs is finished

the visitors of an address → http: of a paused client nothing is parsed → http: headers over 16 KiB are a 431 → dashboard/request: a member has 120 requests → dashboard/request: visitors share 300
a client gets 429 for 5 s → dashboard/request: a client that was refused is paused
at most 64 fields and 32 KiB → dashboard: a form of over 64 fields → dashboard: a form over 32 KiB → dashboard/screen: a table of a thousand rows
A download breaks off → dashboard/usage: a reader of %d KiB a second → dashboard/usage: a reader of %d KiB a second leaves
A form whose session has ended → dashboard/screen: a session that ended → dashboard/screen: of 40 lists of one browser
`;

const OPERATING = `
the log of a start has no line of level 40 → service: the log of a start has each warning once
/health/live → http: health: live says so
for at most a second → http: health: live says so → failures: no key can be looked up
no credits can be charged → failures: 503 while Postgres answers reads
no Elasticsearch node answers, or the service stops → failures: searches fail in time → failures: SHUTDOWN_DELAY_S
degraded means that Redis is away → failures: degraded while the index → failures: the service keeps answering and limiting
explains each metric → service: a service that has answered nothing has every series
Requests of test keys are in http_test_requests_total only → companies/test-world: the log has no warning
A line is one JSON object → platform/observability: a request without a key has no account
A request's line has requestId → http: the log has one line a request → mcp: log line, ledger and statistics
requests with a valid traceparent → http: the line of a request has the trace
Successful health checks have no line → http: health checks that succeed
After SIGTERM or SIGHUP → failures: SHUTDOWN_DELAY_S → failures: SIGTERM: what runs is finished
All durable data is in Postgres; Redis's buckets → metering/rate-limit: the key goes after a minute
while the service and imports go on → companies/directory: a backup that begins while an import
only its owner may read it → backup: the file is its owner’s alone
takes an empty database of the same version → backup: a backup goes into an empty database only → backup: a broken file, and one of another version
Cursors of POST /debts/changes stay right → companies/debts: after a restore of an older database
searches are free 503s → companies/directory: a copy has no index → companies/directory: the indices of a database that is gone → backup: a restored directory is searched
No request is refused if two instances → failures: SHUTDOWN_DELAY_S
The first new instance migrates → metering: counters and keyed requests are carried over → platform/postgres: two processes that migrate at once
Back up before → platform/postgres: a database of another version is refused
Each holds up to 37 connections → service: an instance that searches in Postgres holds
ends it within 5 seconds → metering/keys: with an overlap of 0 ends every earlier secret
A secret that no store checks → dashboard/auth: one that is made in DATA_DIR
account list --email finds the account → platform/terminal: a list has the accounts → metering/accounts: a list has each account’s emails
has the calls with that X-Request-Id → metering/activity: a list is filtered by key
adds once for each reference → metering/accounts: the same reference adds once
opens a new period each time → metering/accounts: to Plus again is a new period
sslmode=verify-full → failures: with verified TLS to every dependency → failures: a certificate %s of
It opens no port → platform/postgres/embedded: it opens no port → platform/postgres/embedded: a DATA_DIR with too long
Under root it runs as the owner → platform/postgres/embedded: data of another user start → platform/postgres/embedded: works in a checkout
Each data node gets a copy → platform/elasticsearch: searches go to the nodes in turn → platform/elasticsearch: a search whose node %s
every import waits 5 minutes → failures: the wait for %s ends with a warning
refuses to start behind a pooler → service: connections that do not take our settings
survive the death of any one → failures: node %s freezes → failures: every request of a client that repeats → failures: a pool that is connected to a standby
index status says what serves → companies/directory: people see in the status who
the directory is being changed by → companies/directory: people see in the status who
an import ends within 15 s → companies/directory: a connection that is lost while the server answers → platform/postgres: a Postgres that leaves one look
Postgres has fallen silent → platform/postgres: 24 connections that are gone
calls of one account are 503 → metering/credits: an account whose row is locked
the service's end after 30 idle seconds → platform/postgres: every session but a dedicated one
credits may have been spent for requests → failures: a credit that may have been spent
and its certificate, or the reason certificate → failures: a certificate %s of
a mail was not sent → dashboard/mails: a mail about %s goes to no member
a request failed → platform: a bug is written once a minute
Elasticsearch doesn't answer as it should → companies/directory: Elasticsearch gone %s → companies/directory: what answers in its place
there is no search index → failures: without an index searches
the index is another version's, or lost documents → companies/directory: %s brings a directory that another version has normalized → companies/directory: of another mapping is noticed → companies/directory: a lost index
says of each alert the cause → service: each rule says its cause → service: each line of the log that a rule names
`;

const MCP = `
with the keys, limits and credits of REST → mcp: log line, ledger and statistics → mcp: lists the tools, calls them, reads a problem
100 credits a day unless you change it → dashboard/connections: the page of consent says who asks
30 days after its last refresh → dashboard/connections: is its own agent’s, moves the end of the connection
revision 2026-07-28, and those of 2025 → mcp: lists the tools, calls them, reads a problem → mcp: every scenario passes that applies
A call is a request of the tool's endpoint → mcp: log line, ledger and statistics
is what the call was charged, in errors too → mcp: a call over the rate is a result → api: by %s: refusals of %s
is what the key can still spend → mcp: a charged call says how many credits are left → api: the lesser of account and key
Every other message takes a token and no credit → mcp: a flood of notifications → mcp: %s: %d, for a token and no credit
is over 64 KiB, or takes over 10 s → mcp: the text of a refused body → mcp: a call in chunks has no known length
over 200 members and items beside a tool's lists → mcp: a message has at most 200 members → mcp: the lists of a tool input do not count
of another host than PUBLIC_URL's is a free 403 → mcp: the foreign origin %s is a 403 → mcp: the own origin, and none
another method than POST a 405 → mcp: %s is a 405 with Allow
\`names\`, at most 25; clear_only → mcp: the text of each answer to a wrong call
have no tool → mcp: there are at most eight tools → api: each right has a route or is known to come
The price is in a tool's title → mcp: $name: under 60 words, with its price → mcp: $name tells a host what it costs
is true for the two that may ask a source → mcp: $name tells a host what it costs
outputSchema may gain members → mcp: the output of a tool is the answer of its route
that inputSchema refuses, or does not name → mcp: an input that does not exist is refused → mcp: %s with %j: a validation
or, if over a minute or without credits, to stop → mcp: without credits the text says to stop → mcp: a text of a model says where credits are bought
A 500 names the X-Request-Id → mcp: the text of a fault of the service
A call without a token left is such a result → mcp: a call over the rate is a result
if its Content-Length is at most 4 KiB → mcp: %s over the rate
gets a key that works at /mcp alone → dashboard/connections: an agent that a member connects calls tools at /mcp alone → dashboard/connections: each secret works in its own place alone
is an https address, or one of this machine → dashboard/connections: with PUBLIC_URL %s there are no connections
names the first in resource_metadata → dashboard/connections: a 401 at /mcp leads to it
with OAUTH_REGISTRATION=on, POST /oauth/register → dashboard/connections: without OAUTH_REGISTRATION no client
All of these except pages and /mcp → dashboard/connections: pages of other sites may read
A client is public, with PKCE S256 → dashboard/connections: it names the resource and the endpoints, S256 alone
on a host of OAUTH_CLIENT_HOSTS → dashboard/connections: a host that OAUTH_CLIENT_HOSTS does not name
one at a time for each → dashboard/connections: of a member one document is read at a time
over https from a public address → dashboard/connections: nothing is sent to an address that is not public → dashboard/connections: a certificate of another host
within 3 s, without redirects → dashboard/connections: a host that does not answer in 3 s → dashboard/connections: a document that %s is refused
is exactly one that the client names → dashboard/connections: a code goes to exactly one → dashboard/connections: with %s leads nowhere
is PUBLIC_URL/mcp or absent → dashboard/connections: names this resource, or none
and wants the member's press, password, a budget → dashboard/connections: the consent wants a budget and a right
A suspended account connects none → dashboard/connections: a suspended account connects no agent
a faulty request gets a page whose link has the error → dashboard/connections: %s is refused by a page whose link → dashboard/connections: that is denied goes back
A request waits 10 minutes in its browser → dashboard/connections: waits for ten minutes
A code lives 60 seconds → dashboard/connections: lives for a minute
a second exchange with the right verifier revokes → dashboard/connections: is exchanged by its own agent with its verifier → dashboard/connections: of two exchanges at once
at most 60 work at a time → dashboard/connections: of a connection gets sixty access tokens
A refresh adds a token, ends none, and is no event → dashboard/connections: is its own agent’s, moves the end
at most 10 further pairs; later its reuse revokes → dashboard/connections: gets ten further pairs
the others work for 2 minutes → dashboard/connections: is of a generation
A body has at most 8 KiB → dashboard/connections: a form with %s is refused → dashboard/connections: a client whose registration comes in chunks
An account has at most 50 → dashboard/connections: connections take no place of the plan
but neither rotated nor given another end → dashboard/connections: a connection can be neither rotated → dashboard/connections: a member sees the connection among the keys
they end with their member or account → dashboard/connections: a member who leaves or is removed
20 registrations an hour → dashboard/connections: bound the requests that wait, and registrations
failures alone are a 429 → dashboard/connections: at the token endpoint failures alone count
in which a user has signed in is counted for that user → dashboard/connections: a stranger at a member’s address
a /48 has four times these limits → dashboard/connections: a /48 of IPv6 has the tokens
`;

const DATA = `
import with --legal-persons → companies/directory: --legal-persons skips natural persons
refreshed by a later lookup, not removed by age → companies/lookup: what a refresh does not supply → companies/lookup: a failed refresh is a 502
refreshes of an account on a day → companies/lookup: begin again the next day, and grow with
the next import of their kind; 90 days → companies/debts: an import replaces the whole dataset → companies/debts: old changes are removed in small steps
never confirmed: 7 days → dashboard: what has ended, and who never confirmed their email
30 days after their seven → dashboard/account-data: invitations that have ended
90 days after their end; account delete → dashboard/account-data: connections that have ended
a day, or with the last connection → dashboard/account-data: agents that registered themselves
hours: 2 days → dashboard/account-data: counts by hour
7 days after the last visit; 30 days → dashboard/auth: a session ends after 30 days
180 days; a day → dashboard/auth: a browser keeps each cookie
an unconfirmed new email → dashboard/account: a new password ends a change that was asked for → dashboard/sign-in: a link of a reset and one of a new email
sign-ins: 90 days or account delete → dashboard/auth: the ledger has the first sign-in of a day
errors: 13 months → metering/notes: counts are kept for 13 months
a table a day → metering/activity: whole days go once they are over
11 minutes after the last sending → metering/credits: after ten minutes it is a new request
sessions, with IP address and browser → dashboard/auth: the list has browser, times and address
hold account ids, and no name, email, NIF, query or key → dashboard/connections: no token, code, verifier or state → dashboard/auth: every step of a sign-in is logged
metrics none of these → http: count requests by route template
hold the visitor's IP address and the ids of user and account → dashboard/auth: every step of a sign-in is logged
and, if that fails, VIES → companies/lookup: after a fault of nif.pt
nothing of natural persons and of the first dataset → api: natural persons are in the dataset and in no change → api: the first dataset of a kind
imports still write changes for 90 days → service: when it is %s, the endpoint answers
The next lookup fetches it again → companies/lookup: companies forget ends that → companies/lookup: nor does it bring back one that was forgotten
goes with the next import that changes something → companies/directory: adds and updates rows, with --replace
Changes of a company end after 90 days → companies/debts: old changes are removed in small steps
keeps those of natural persons for 90 days → dashboard/account-data: the statements of docs/data-protection.md
stays until this → dashboard/account-data: the statements of docs/data-protection.md
revokes an account's keys, and removes its members → dashboard/account-data: removes members, sessions, invitations and every name → dashboard/account: a deletion says which credits are lost
The ledger stays, with member for every member → dashboard/account-data: removes members, sessions, invitations and every name
all that is stored about an account and its members, without secrets → dashboard/account-data: has the account, its members
removes one member → dashboard/account: a removed member’s session ends at once
The last owner is refused → dashboard/account: the last owner stays
and the keys work until key revoke → dashboard/account: a removed member’s session ends at once
`;

const IMPORTS = `
Before the first import no name is found → companies/directory: the first import can be undone
each debt is null → api: before any dataset was imported
test keys have companies of their own → companies/test-world: no source is asked
companies that it doesn't have go (removed) → companies/directory: adds and updates rows, with --replace
with under 90% of the present rows is refused → companies/directory: a --replace with under 90%
Readers see the old directory until the new one is whole → companies/directory: every answer is the old or the new one → companies/directory: %s, %s: no answer mixes two generations
when the command has ended, every search sees the new one → api: once an import is done no instance answers
A run that is killed, interrupted or without Elasticsearch → companies/directory: leaves readers with a whole directory → companies/directory: interrupted at any moment → companies/directory: Elasticsearch gone %s
A server removes what is left of it → companies/directory: is removed by a server that starts
names the lock's holder, and exits with 1 → companies/directory: people see in the status who loaded what and when
Two directories may share an Elasticsearch → companies/directory: a copy has no index until it builds one
and no index until index rebuild or its next import → companies/directory: a copy has no index → companies/directory: the first import of a copy
each replaced as a whole, in force for lookups at once → companies/debts: an import replaces the whole dataset → companies/lookup: debts are joined as they are
refused when its kind would keep under 90% → companies/debts: a file with %s is refused without force
before the present one or after tomorrow (UTC) → companies/debts: a file with %s is refused without force
so both take two → companies/debts: a refused file says what its import would announce
as POST /debts/changes will tell customers → companies/debts: a dry run tells what an import would do → companies/debts: a refused file says what
returns at once to before the last import → companies/directory: a rollback returns search and Postgres
doesn't change what it returns to → companies/directory: a rebuild changes what serves
to import that file with its date → platform/terminal: a dataset of debts goes out and in again
CSV (commas, semicolons or tabs) → companies/ingest: %s are read, packed or not
further columns are ignored → companies/ingest: columns under the file’s own names
JSON Lines with those members → companies/ingest: take text as it is, whole numbers
empty or null: open-ended → companies/debts: brackets are stored with the date → companies/directory: the commands of docs/imports.md import
with the jq command that makes JSON Lines of them → companies/ingest: a JSON document, with the command
gzip is unpacked → companies/ingest: a file of several gzip members
others, such as Excel and ZIP, are refused → companies/ingest: a spreadsheet, an archive → companies/ingest: of another encoding
names the file's columns or members → companies/ingest: columns under the file’s own names → companies/directory: --columns takes the file’s own names
A dot reads a member of an object → companies/ingest: a dot goes into an object of JSON
A file that changes while it is read is refused → companies/ingest: that is cut, emptied or written while it is read
Bad rows are rejected, the rest is imported → companies/directory: rows that can not be used are rejected
if every row is, nothing changes and the exit code is 1 → companies/directory: when every row is rejected
more fields than the header → companies/ingest: with text in more columns than the header
a NIF that comes again later in the file → companies/directory: rejects have the order of the file → companies/debts: brackets that are upside down
bracket upside down or not whole amounts → companies/debts: brackets that are upside down
a row over 64 KiB → companies/ingest: are rejected, one of 64 KiB is not → companies/ingest: reject a line over 64 KiB
quotes that don't close or have text behind them → companies/ingest: cost their own line of CSV
Names are trimmed; control characters become spaces → companies/directory: rows that can not be used are rejected
with the line where the row begins → companies/ingest: reads as it is meant → companies/directory: rejects have the order of the file
can't be the file that is read, also on standard input → platform/terminal: a file that can not be written is refused
skips NIFs of natural persons → companies/directory: --legal-persons skips natural persons
+ unchanged + rejected; removed counts former companies → platform/terminal: a directory goes out and in again unchanged
Import in this order, without --replace → companies/directory: the commands of docs/imports.md import what they say
Natural persons have codes instead of a NIF → companies/directory: --legal-persons skips natural persons
`;

const DOCUMENTS: Record<string, string> = {
  'docs/api.md': API,
  'docs/members.md': MEMBERS,
  'docs/operating.md': OPERATING,
  'docs/mcp.md': MCP,
  'docs/data-protection.md': DATA,
  'docs/imports.md': IMPORTS,
};

/** Text without the marks of code, emphasis and links. */
const plain = (text: string) => text.replaceAll(/\]\([^)]*\)|[`*_[\]\\]/g, '');

const rowsOf = (table: string) =>
  plain(table)
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' → '));

const codeOf = (folder: string) =>
  [...new Bun.Glob('*.ts').scanSync(join(import.meta.dir, folder))].map((name) =>
    plain(readFileSync(join(import.meta.dir, folder, name), 'utf8')),
  );

const faults: string[] = [];
const folders = new Map<string, string[]>();
for (const [path, table] of Object.entries(DOCUMENTS)) {
  const page = readFileSync(join(import.meta.dir, '..', path), 'utf8');
  const rows = rowsOf(table);
  for (const [words, ...tests] of rows) {
    if (!plain(page).includes(words!)) faults.push(`${path} has no longer: ${words}`);
    for (const test of tests) {
      const [folder, name] = test.split(/: (.*)/) as [string, string];
      if (!folders.has(folder)) folders.set(folder, codeOf(folder));
      const named = new RegExp(String.raw`['"(\s]${RegExp.escape(name)}`);
      if (!folders.get(folder)!.some((code) => named.test(code)))
        faults.push(`test/${folder} has no test "${name}", which shows of ${path}: ${words}`);
    }
  }
}
for (const fault of faults) console.error(fault);
process.exitCode = Number(faults.length > 0);
