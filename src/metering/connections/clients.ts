/**
 * Clients of agents, and those that have registered themselves (RFC 7591). The latter prove nothing, so that the service takes them
 * only if OAUTH_REGISTRATION is `on`.
 */
import { randomBytes } from 'node:crypto';
import type { Sql } from '../../platform/postgres/connect.ts';

/** A client, from its metadata document or its registration. */
export interface Client {
  id: string;
  /** As it calls itself. */
  name: string;
  redirectUris: string[];
}

/** The host that a client has proved by its document; `null` for one that has registered itself. */
export const clientHost = (clientId: string): string | null => URL.parse(clientId)?.hostname ?? null;

export async function registerClient(sql: Sql, { name, redirectUris }: Omit<Client, 'id'>): Promise<Client> {
  const id = `client_${randomBytes(16).toString('hex')}`;
  await sql`INSERT INTO connection_clients (id, name, redirect_uris) VALUES (${id}, ${name}, ${redirectUris})`;
  return { id, name, redirectUris };
}

/** @returns `null` if no client has registered itself with this id */
export async function findRegistered(sql: Sql, id: string): Promise<Client | null> {
  const [client] = await sql<Client[]>`
    SELECT id, name, redirect_uris AS "redirectUris" FROM connection_clients WHERE id = ${id}`;
  return client ?? null;
}
