/** Importing this file starts Elasticsearch. */
import { urlOf, useServers } from '../servers/shared.ts';

await useServers('elasticsearch');

export const elasticsearchUrl = urlOf('elasticsearch');
