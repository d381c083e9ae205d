import { testEveryPage } from './every-page.ts';

await testEveryPage('en-GB', 'dark', [360, 1280]);
