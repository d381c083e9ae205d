import { Type } from '@sinclair/typebox';

/**
 * One of several texts. TypeBox's union of constants means the same, but a generated Python client takes the first one alone. The
 * pattern is for the check of bodies, which ignores `enum`.
 */
export function enumeration<Text extends string>(texts: readonly Text[], description: string) {
  const pattern = `^(${texts.join('|')})$`;
  return Type.Unsafe<Text>(Type.String({ enum: texts, pattern, description }));
}
