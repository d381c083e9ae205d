/** Markup that is safe to send: made by {@link html}, which escapes everything that is put into it. */
export interface Html {
  readonly markup: string;
}

/** A value in a template. `false`, `null` and `undefined` are empty; a list is its members one after another. */
export type HtmlValue = Html | string | number | false | null | undefined | HtmlValue[];

/**
 * A tagged template for HTML: text is escaped, for content and quoted attributes alike, unless it is itself made by
 * this tag. Attributes must be quoted.
 */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  let markup = strings[0]!;
  for (const [index, value] of values.entries()) markup += render(value) + strings[index + 1]!;
  return { markup };
}

function render(value: HtmlValue): string {
  if (value === false || value === null || value === undefined) return '';
  if (typeof value === 'string') return Bun.escapeHTML(value);
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(render).join('');
  return value.markup;
}
