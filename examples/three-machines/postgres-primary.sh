#!/bin/bash
# Runs once, when the primary makes its data: the service's role, the standbys' access, and commits that wait for one of them.
set -euo pipefail
psql --set=ON_ERROR_STOP=1 --username=postgres --dbname=directory --set=password="$DATABASE_PASSWORD" <<'SQL'
CREATE ROLE directory LOGIN PASSWORD :'password';
ALTER DATABASE directory OWNER TO directory;
-- A commit waits for one of the two: the death of either stops nothing, and a failover loses no credit. In force after this start.
ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (b, c)';
SQL
echo 'host replication postgres all scram-sha-256' >> "$PGDATA/pg_hba.conf"
