/** The way of consent in a window that another site has opened, in Chromium. */
import { afterAll, expect, test } from 'bun:test';
import { startBrowsedDashboard } from '../browser.ts';
import { createMember } from '../visitor.ts';
import { authorizePath, callTool, exchange, registerAgent } from './agent.ts';

const { service, browsing, stop } = await startBrowsedDashboard({ OAUTH_REGISTRATION: 'on' });
afterAll(stop);

test('a site that opens it in a window gets the code there, after a redirect to another host, and a message from the window', async () => {
  // Two sites: the window comes back to the one, which leads on to the other, as hosts of agents do.
  const site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname, search, port } = new URL(url);
      if (pathname === '/callback') return Response.redirect(`http://localhost:${port}/done${search}`, 302);
      const script =
        pathname === '/done'
          ? 'opener.postMessage(location.search, "*")'
          : 'onmessage = ({ data }) => { document.title = data }';
      return new Response(`<script>${script}</script>`, { headers: { 'Content-Type': 'text/html' } });
    },
  });
  try {
    const agent = await registerAgent(service, { redirectUri: `http://127.0.0.1:${site.port}/callback` });
    const { email, password } = await createMember(service);
    await browsing.inBrowser({ locale: 'en-GB' }, async (page) => {
      await page.goto(`http://127.0.0.1:${site.port}/`);
      const opened = page.waitForEvent('popup');
      await page.evaluate(
        `void window.open(${JSON.stringify(service.baseUrl + authorizePath(agent))}, 'connect')`,
      );
      const popup = await opened;
      await popup.fill('#email', email);
      await popup.fill('#password', password);
      await popup.click('main form button[type=submit]');
      await popup.waitForSelector('#present');
      await popup.fill('#present', password);
      await popup.click('main form button[type=submit]:has-text("Connect")');
      await page.waitForFunction('document.title.includes("code=")');
      const answer = new URLSearchParams(await page.title());
      expect([answer.get('state'), answer.get('iss')]).toEqual([agent.state, service.baseUrl]);
      const { access_token } = await exchange(service, agent, answer.get('code')!);
      expect((await callTool(service, access_token)).status).toBe(200);
    });
  } finally {
    await site.stop(true);
  }
});
