-- Since 0015_dashboard_attempts.sql nothing writes this table. Its rows hold addresses of visitors. The table itself stays
-- for one more version, because the version before this one deletes from it every hour.
DELETE FROM dashboard_rate_limits;
