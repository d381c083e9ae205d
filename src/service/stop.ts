import { CLOSE_TIMEOUT_MS } from '../runtime/shutdown.ts';
import { SECOND } from '../units.ts';

/**
 * Running requests may take this long to finish after a stop, because they are paid for. Longer ones must not delay a
 * deployment.
 */
export const DRAIN_TIMEOUT_MS = 10 * SECOND;

/**
 * The longest stop, if all stores hang: from the closing of the port (`SHUTDOWN_DELAY_S` after the signal) through requests,
 * background work and connections to the end. A batch of credits in doubt may use the time that the others leave. A supervisor
 * has to wait longer before it kills the service (docs/operating.md, Health, metrics, logs; `stop_grace_period` in
 * docker-compose.yml).
 */
export const LONGEST_STOP_MS = DRAIN_TIMEOUT_MS + 2 * CLOSE_TIMEOUT_MS;
