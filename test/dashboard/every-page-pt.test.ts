import { testEveryPage } from './every-page.ts';

await testEveryPage('pt-PT', 'light', [360]);
