import type { Config } from '../../platform/config/config.ts';

/** The address where an account buys credits; `null` if `BUY_URL` is not set. */
export function buyAddress(buyUrl: Config['buyUrl'], accountId: string): string | null {
  return buyUrl?.replaceAll('{account}', encodeURIComponent(accountId)) ?? null;
}
