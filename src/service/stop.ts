import { CLOSE_TIMEOUT_MS } from '../runtime/shutdown.ts';
import { SECOND } from '../units.ts';

/**
 * Running requests may take this long to finish after a stop: they are paid for. Most are done at once; what isn't by
 * then must not keep a deployment waiting.
 */
export const DRAIN_TIMEOUT_MS = 10 * SECOND;

/**
 * From the closing of the port (`SHUTDOWN_DELAY_S` after the signal) to the end of a service whose stores all hang:
 * requests, then the work beside them, then connections.
 * A batch of credits in doubt may use the time that the others leave.
 * Whoever stops it has to wait longer before killing it (docs/operating.md, Health, metrics, logs; `stop_grace_period` in docker-compose.yml).
 */
export const LONGEST_STOP_MS = DRAIN_TIMEOUT_MS + 2 * CLOSE_TIMEOUT_MS;
