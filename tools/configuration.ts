import { SETTINGS } from '../src/platform/config/config.ts';

/** The table of docs/configuration.md: all settings. A `*` marks those that can come from a file. */
export function configurationTable(): string[][] {
  const rows = Object.values(SETTINGS).map(({ name, isSecret, fallback, meaning }) => [
    `\`${name}\`${isSecret ? ' *' : ''}`,
    fallback,
    meaning,
  ]);
  return [['variable', 'default', 'meaning'], ...rows];
}
