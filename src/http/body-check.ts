import type { TObject } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';

const NO_OBJECT =
  'The body is not a JSON object as application/json, of at most 64 KiB, that arrives within 10 s.';

/** The member of an error's path, and the place in its list: `/nifs/3`. */
const PATH = /^\/([^/]+)(?:\/([0-9]+))?/;

/**
 * Checks bodies by the schema that the reference shows.
 * @returns a function that returns the detail of a body's problem: the member, and what is allowed; `null` means that it is valid
 */
export function createBodyCheck(schema: TObject): (json: unknown) => string | null {
  const compiled = TypeCompiler.Compile(schema);
  return (json) => {
    if (compiled.Check(json)) return null;
    const error = compiled.Errors(json).First();
    const [, name = '', place] = PATH.exec(error?.path ?? '') ?? [];
    const member = schema.properties[name];
    if (member === undefined) return NO_OBJECT;
    const at = place === undefined ? '' : `, number ${Number(place) + 1},`;
    return `"${name}"${at} is ${error?.value === undefined ? 'missing' : 'not valid'}. It takes: ${member.description}`;
  };
}
