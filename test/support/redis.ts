/** Importing this file starts Redis. */
import { urlOf, useServers } from '../servers/shared.ts';

await useServers('redis');

export const redisUrl = urlOf('redis');
