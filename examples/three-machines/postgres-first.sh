#!/bin/bash
# Runs once, when postgres-a creates the first data. Sets up the service's role, the standbys' access, and commits that wait for a
# standby.
set -euo pipefail
psql --set=ON_ERROR_STOP=1 --username=postgres --dbname=directory --set=password="$DATABASE_PASSWORD" <<'SQL'
CREATE ROLE directory LOGIN PASSWORD :'password';
ALTER DATABASE directory OWNER TO directory;
-- A commit waits for one standby, so the death of the other stops nothing, and a failover loses no credit. It applies after this
-- start. The standbys copy the line. A server never follows itself, so the same three names are right on each.
ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (a, b, c)';
-- The first commit of a new primary waits until the other standby follows it. The standby looks for it this often (default: 5 s).
ALTER SYSTEM SET wal_retrieve_retry_interval = '1s';
-- A machine without power closes no connection. The standby leaves a primary that has been silent for this long (default: 60 s).
ALTER SYSTEM SET wal_receiver_timeout = '3s';
-- Checkpoints amid an import make its WAL 40% longer (default: 1 GB).
ALTER SYSTEM SET max_wal_size = '4GB';
SQL
echo 'host replication postgres all scram-sha-256' >> "$PGDATA/pg_hba.conf"
