import { aborted } from 'node:util';
import { SECOND } from '../../platform/units.ts';
import { type Question, urlUnder } from './http.ts';
import { isOfSource, SourceError, type SourcesConfig } from './types.ts';

/** A token isn't used for this long before its end, because it could expire in flight. */
const EXPIRY_MARGIN_MS = 30 * SECOND;
/** OAuth leaves `expires_in` optional (RFC 6749, 5.1). */
const DEFAULT_LIFETIME_S = 300;

/** OAuth client credentials at `POST {url}/oauth/token`. One request for a token runs at a time; all callers share it. */
export function createTokens(config: SourcesConfig, now: () => number) {
  let current: { token: string; usableUntilMs: number } | undefined;
  let pending: Promise<string> | undefined;

  async function request(question: Question): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      // `readConfig` refuses this registry without credentials.
      client_id: config.einformaClientId!,
      client_secret: config.einformaClientSecret!,
      scope: 'buscar:consultar:empresas',
    });
    const askedAtMs = now();
    const { status, body } = await question.ask({
      url: urlUnder(config.einformaUrl, '/oauth/token'),
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      // The statuses for wrong credentials (RFC 6749, 5.2).
      bare: [400, 401],
    });
    if (status >= 400) throw new SourceError('einforma', 'bad-key');
    const { access_token: token, expires_in: lifetime } = body;
    // The token goes into a header, so it must have the characters that RFC 6750 allows.
    if (typeof token !== 'string' || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) {
      throw new SourceError('einforma', 'unexpected');
    }
    const lifetimeMs = lifetimeSeconds(lifetime) * SECOND;
    // A token that lives for a minute or less is used for the first half of its life.
    const margin = Math.min(EXPIRY_MARGIN_MS, lifetimeMs / 2);
    current = { token, usableUntilMs: askedAtMs + lifetimeMs - margin };
    return token;
  }

  function start(question: Question): Promise<string> {
    const started = request(question).finally(() => {
      pending = undefined;
    });
    pending = started;
    return started;
  }

  return {
    /** A valid token; requests one if there is none or it is about to expire. */
    async get(question: Question): Promise<string> {
      const { signal } = question;
      for (;;) {
        if (current && now() < current.usableUntilMs) return current.token;
        if (!pending) return start(question);
        try {
          const timeout = aborted(signal, signal).then(() =>
            Promise.reject(new SourceError('einforma', signal.reason)),
          );
          return await Promise.race([pending, timeout]);
        } catch (error) {
          // The question that started the request may have timed out, or not been permitted, and not this one.
          const isOfAnother = !signal.aborted && !(isOfSource(error) && error.reason !== 'timeout');
          if (!isOfAnother) throw error;
        }
      }
    },
    /** Drops a token that was refused, so that the next `get` requests another one. */
    forget(token: string): void {
      if (current?.token === token) current = undefined;
    },
  };
}

function lifetimeSeconds(value: unknown): number {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof seconds === 'number' && seconds > 0 ? seconds : DEFAULT_LIFETIME_S;
}
