import { ACCOUNT_TEXTS } from './account/account-texts.ts';
import { ACTIVITY_TEXTS } from './activity/activity-texts.ts';
import { CONNECTION_TEXTS } from './connections/connections-texts.ts';
import { KEY_TEXTS } from './keys/keys-texts.ts';
import { MAIL_TEXTS } from './mails/mails-texts.ts';
import { REFERENCE_TEXTS } from './reference/reference-texts.ts';
import { SCREEN_TEXTS } from './screen/screen-texts.ts';
import { SIGN_IN_TEXTS } from './sign-in/sign-in-texts.ts';
import { TRY_TEXTS } from './try/try-texts.ts';
import { COMMON_TEXTS } from './ui/common-texts.ts';
import { type InOne, inLanguage } from './ui/in-language.ts';
import type { Language } from './ui/language.ts';
import { STATE_TEXTS } from './ui/states.ts';
import { USAGE_TEXTS } from './usage/usage-texts.ts';

/** Every text of the dashboard and of its mail, in English and in Portuguese, from the rooms that show them. */
const TEXTS = {
  states: STATE_TEXTS,
  ...COMMON_TEXTS,
  ...ACCOUNT_TEXTS,
  ...ACTIVITY_TEXTS,
  ...CONNECTION_TEXTS,
  ...KEY_TEXTS,
  ...MAIL_TEXTS,
  ...REFERENCE_TEXTS,
  ...SCREEN_TEXTS,
  ...SIGN_IN_TEXTS,
  ...TRY_TEXTS,
  ...USAGE_TEXTS,
} as const;

export type Messages = InOne<typeof TEXTS> & {
  language: Language;
  /** The `lang` of a page. */
  lang: string;
};

export const MESSAGES: Record<Language, Messages> = {
  en: { ...inLanguage(TEXTS, 0), language: 'en', lang: 'en' },
  pt: { ...inLanguage(TEXTS, 1), language: 'pt', lang: 'pt-PT' },
};
