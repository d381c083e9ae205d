import postgres from 'postgres';

/** Every database of a run begins so; runs on one server don't meet. */
export const databasePrefix = (runId: string) => `directory_test_${runId}_`;

/** Drops what a run has left on the server at `url`: the template, and databases that a test has forgotten. */
export async function dropDatabases(url: string, runId: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  const databases = await sql<{ datname: string }[]>`
    SELECT datname FROM pg_database WHERE starts_with(datname, ${databasePrefix(runId)})`;
  for (const { datname } of databases) await sql`DROP DATABASE IF EXISTS ${sql(datname)} WITH (FORCE)`;
  await sql.end({ timeout: 1 });
}
