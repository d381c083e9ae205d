#!/bin/bash
# Starts one of the three servers. With data it continues as primary or standby. Without data it becomes a standby of the primary. Only
# `a` becomes the first primary, if no primary answers.
set -euo pipefail

# A standby follows whichever of the three is the primary, also after a failover. Without tcp_user_timeout it would wait for minutes for
# a machine that is off and comes first in the list.
primary="host=postgres-a,postgres-b,postgres-c target_session_attrs=primary connect_timeout=2 tcp_user_timeout=2000 user=postgres application_name=$NODE"
export PGPASSWORD=$POSTGRES_PASSWORD
primary_answers() { psql "$primary dbname=directory" --command='SELECT' >/dev/null 2>&1; }

if [ -s "$PGDATA/PG_VERSION" ]; then
  # The fence: two primaries would both take credits.
  if [ ! -e "$PGDATA/standby.signal" ] && primary_answers; then
    echo "another server is the primary now. To start this one as its standby, remove its data (README.md)." >&2
    exit 1
  fi
elif [ "$NODE" != a ] || primary_answers; then
  for _ in {1..60}; do
    rm -rf "$PGDATA.new"
    if primary_answers && pg_basebackup --pgdata="$PGDATA.new" --write-recovery-conf --checkpoint=fast --dbname="$primary"; then
      mv "$PGDATA.new" "$PGDATA"
      break
    fi
    sleep 1
  done
  if [ ! -d "$PGDATA" ]; then
    echo 'no primary could be copied: start one, then this one' >&2
    exit 1
  fi
fi
exec docker-entrypoint.sh postgres
