import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { readConfig } from '../../../src/platform/config/config.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { createFolder } from '../../support/folder.ts';
import { startTestService } from '../../support/service.ts';

const PASSWORD = 'pa:ss/w@rd%1';
/** As a URL has it. */
const ENCODED = encodeURIComponent(PASSWORD);

/** Answers as Elasticsearch does when it asks for a password; keeps what it was sent. */
const given: (string | null)[] = [];
const folder = createFolder('credentials');
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch(request) {
    const authorization = request.headers.get('authorization');
    given.push(authorization);
    const headers = { 'X-Elastic-Product': 'Elasticsearch' };
    if (authorization === `Basic ${btoa(`elastic:${PASSWORD}`)}`) {
      return Response.json({ count: 7 }, { headers });
    }
    const reason = 'unable to authenticate user [elastic]';
    return Response.json(
      { error: { type: 'security_exception', reason }, status: 401 },
      { status: 401, headers },
    );
  },
});
afterAll(() => server.stop(true));

const addressWith = (password: string, port = server.port) => `http://elastic:${password}@127.0.0.1:${port}`;
const ALWAYS = { elasticsearchApiKey: null };

test('user and password in ELASTICSEARCH_URL, or in its file, are sent as basic authentication', async () => {
  const file = join(folder, 'elasticsearch-url');
  await Bun.write(file, `${addressWith(ENCODED)}\n`);
  for (const env of [{ ELASTICSEARCH_URL: addressWith(ENCODED) }, { ELASTICSEARCH_URL_FILE: file }]) {
    given.length = 0;
    const client = createElasticsearch(readConfig(env))!;
    expect(await client.count({ index: 'companies' })).toEqual({ count: 7 } as never);
    await client.close();
    expect(given).toEqual([`Basic ${btoa(`elastic:${PASSWORD}`)}`]);
  }
});

test('ELASTICSEARCH_API_KEY is sent instead of user and password', async () => {
  given.length = 0;
  const client = createElasticsearch({
    elasticsearchUrl: addressWith(ENCODED),
    elasticsearchApiKey: 'api-key',
  })!;
  await client.count({ index: 'companies' }).catch(() => {});
  await client.close();
  expect(given).toEqual(['ApiKey api-key']);
});

describe('the password is not in what is logged', () => {
  /** A log of an error, as the service writes it. */
  function logged(error: unknown): string {
    const lines: string[] = [];
    createLogTo({ write: (line) => void lines.push(line) }).error({ err: error }, 'failed');
    return lines.join('');
  }

  for (const [what, address] of [
    ['refused', () => addressWith('wrong-secret')],
    ['away', () => addressWith('wrong-secret', 1)],
  ] as const) {
    test(`of a request that is ${what}`, async () => {
      const client = createElasticsearch({ elasticsearchUrl: address(), ...ALWAYS })!;
      const error = await client.count({ index: 'companies' }, { maxRetries: 0 }).catch((error) => error);
      await client.close();
      expect(error).toBeInstanceOf(Error);
      expect(logged(error)).not.toContain('wrong-secret');
      expect(logged(error)).not.toContain(btoa('elastic:wrong-secret'));
    });
  }

  test('of a service whose password is refused', async () => {
    const env = { ELASTICSEARCH_URL: addressWith('wrong-secret') };
    const service = await startTestService({ env });
    // An empty directory asks no index.
    await service.sql`UPDATE directory_generations SET index_name = 'companies-1', rows = 1`;
    await fetch(`${service.baseUrl}/health/ready`);
    await service.stop();
    const log = JSON.stringify(service.logLines);
    expect(log).toContain('security_exception');
    expect(log).not.toContain('wrong-secret');
    expect(log).not.toContain(btoa('elastic:wrong-secret'));
  });
});
