/** `/mcp` as a resource that OAuth protects (RFC 9728): where a client without a token learns of the sign-in. */
import { MCP_PATH } from '../http/api-route.ts';
import { isLoopbackHost } from '../platform/config/addresses.ts';

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

/** The resource that access tokens are for. */
export const resourceOf = (publicUrl: string) => `${publicUrl}${MCP_PATH}`;

/**
 * Whether agents can connect by a sign-in. Tokens travel over TLS, or inside this machine, and clients look for the metadata at the root of
 * the host.
 */
export function takesConnections(publicUrl: string): boolean {
  const { protocol, hostname, pathname } = new URL(publicUrl);
  return pathname === '/' && (protocol === 'https:' || isLoopbackHost(hostname));
}

/** `WWW-Authenticate` of a 401 at `/mcp`. @param hasToken whether the request had a token */
export function challengeOf(publicUrl: string, hasToken: boolean): string {
  if (!takesConnections(publicUrl)) return 'Bearer';
  const metadata = `resource_metadata="${publicUrl}${RESOURCE_METADATA}${MCP_PATH}"`;
  return hasToken ? `Bearer error="invalid_token", ${metadata}` : `Bearer ${metadata}`;
}
