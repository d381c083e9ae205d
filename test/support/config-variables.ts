import { readConfig } from '../../src/platform/config/config.ts';

/** The variables that the configuration reads, and those of them that a file can hold (`NAME_FILE`). */
export function variablesOfConfig(): { names: string[]; secrets: string[] } {
  const asked = new Set<string>();
  readConfig(
    new Proxy<Record<string, string>>(
      {},
      {
        get(_, name) {
          asked.add(String(name));
          return undefined;
        },
      },
    ),
  );
  const names = [...asked].filter((name) => !name.endsWith('_FILE')).toSorted();
  return { names, secrets: names.filter((name) => asked.has(`${name}_FILE`)) };
}
