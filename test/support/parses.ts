import { spyOn } from 'bun:test';

/** Shorter texts are no load: a path, a date. */
const LONG = 2000;

const TEXT_METHODS = ['split', 'match', 'matchAll', 'replace', 'replaceAll'] as const;
const BODY_METHODS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/** Counts what this process parses of long texts, and the bodies that it reads, until it is stopped. */
export function countParses() {
  let parses: string[] = [];
  const saw = (name: string, text: unknown) => {
    if (String(text).length >= LONG) parses.push(name);
  };
  const spies: { mockRestore(): void }[] = [];

  /** Calls `see` before the method itself. */
  function watch<T extends object>(holder: T, name: keyof T, see: (self: unknown, given: unknown[]) => void) {
    const own = holder[name] as (...given: unknown[]) => unknown;
    const spy = spyOn(holder as Record<string, () => unknown>, name as string);
    spy.mockImplementation(function (this: unknown, ...given: unknown[]) {
      see(this, given);
      return own.apply(this, given);
    } as () => unknown);
    spies.push(spy);
  }

  for (const name of TEXT_METHODS) watch(String.prototype, name, (self) => saw(name, self));
  for (const name of BODY_METHODS) watch(Request.prototype, name, () => parses.push(`body by ${name}`));
  watch(JSON, 'parse', (_, [text]) => saw('JSON', text));
  const { URL, URLSearchParams } = globalThis;
  globalThis.URL = class extends URL {
    constructor(address: string | URL, base?: string | URL) {
      saw('URL', address);
      super(address, base);
    }
  };
  globalThis.URLSearchParams = class extends URLSearchParams {
    constructor(...given: ConstructorParameters<typeof URLSearchParams>) {
      saw('URLSearchParams', given[0] ?? '');
      super(...given);
    }
  };

  return {
    /** The texts that were parsed since the last time. */
    take(): string[] {
      const taken = parses;
      parses = [];
      return taken;
    },
    stop() {
      for (const spy of spies) spy.mockRestore();
      Object.assign(globalThis, { URL, URLSearchParams });
    },
  };
}
