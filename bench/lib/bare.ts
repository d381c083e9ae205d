/** The floor: an Elysia route that does nothing. */
import { Elysia } from 'elysia';

new Elysia()
  .get('/health/live', () => 'ok')
  .get('/', () => new Response('{"ok":true}', { headers: { 'Content-Type': 'application/json' } }))
  .listen({ hostname: '127.0.0.1', port: Number(process.env.PORT) });
