/** Requests for a connection. Each waits for the consent of a member, in the browser that began it. */
import { randomBytes } from 'node:crypto';
import type { Sql } from '../../platform/postgres/connect.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import { hashSecret } from '../keys/secret.ts';

/** A request waits this long. */
export const REQUEST_S = (10 * MINUTE) / SECOND;

export interface ConnectionRequest {
  clientId: string;
  redirectUri: string;
  /** The other parameters, as they were sent. */
  parameters: Record<string, string>;
  /** `null` means that the client is not known yet. */
  clientName: string | null;
}

/** @param browser the value of a cookie of the browser @returns the id of the request */
export async function storeRequest(
  sql: Sql,
  browser: string,
  { clientId, redirectUri, parameters }: Omit<ConnectionRequest, 'clientName'>,
): Promise<string> {
  const id = randomBytes(16).toString('base64url');
  await sql`
    INSERT INTO connection_requests (id_sha256, browser_sha256, client_id, redirect_uri, parameters, until)
    VALUES (${hashSecret(id)}, ${hashSecret(browser)}, ${clientId}, ${redirectUri}, ${sql.json(parameters)},
      now() + ${REQUEST_S} * interval '1 second')`;
  return id;
}

/** @returns `null` for an unknown request, one of another browser, and one that has waited for too long */
export async function findRequest(sql: Sql, id: string, browser: string): Promise<ConnectionRequest | null> {
  const [request] = await sql<ConnectionRequest[]>`
    SELECT client_id AS "clientId", redirect_uri AS "redirectUri", parameters, client_name AS "clientName" FROM connection_requests
    WHERE id_sha256 = ${hashSecret(id)} AND browser_sha256 = ${hashSecret(browser)} AND until > now()`;
  return request ?? null;
}

/** Keeps the name of a client that was found to take codes at the request's address. */
export async function nameClient(sql: Sql, id: string, clientName: string): Promise<void> {
  await sql`UPDATE connection_requests SET client_name = ${clientName} WHERE id_sha256 = ${hashSecret(id)}`;
}

/** Ends a request. */
export async function dropRequest(sql: Sql, id: string): Promise<void> {
  await sql`DELETE FROM connection_requests WHERE id_sha256 = ${hashSecret(id)}`;
}
