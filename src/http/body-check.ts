import type { TObject } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';

const NO_OBJECT = 'The body is not a JSON object.';

/** The member of an error's path, and the place in its list: `/nifs/3`. */
const PATH = /^\/([^/]+)(?:\/([0-9]+))?/;

/**
 * Checks bodies by the schema that the reference shows.
 * @returns a function that returns the detail of a body's problem: the member, what is allowed, and an example; `null` means that it is valid
 */
export function createBodyCheck(schema: TObject): (json: unknown) => string | null {
  const compiled = TypeCompiler.Compile(schema);
  return (json) => {
    if (compiled.Check(json)) return null;
    const error = compiled.Errors(json).First();
    if (error === undefined || error.path === '') return NO_OBJECT;
    const [, name = '', place] = PATH.exec(error.path) ?? [];
    if (!Object.hasOwn(schema.properties, name)) return unknownIn(schema);
    const member = schema.properties[name]!;
    const at = place === undefined ? '' : `, number ${Number(place) + 1},`;
    const came = Array.isArray(error.value) && place === undefined ? `: ${error.value.length} came` : '';
    const what = error.value === undefined ? 'missing' : `not valid${came}`;
    return `"${name}"${at} is ${what}. It takes: ${member.description} For example: ${exampleOf(schema, name)}`;
  };
}

/** The name of a member that is not known is a sender's, so it is not repeated. */
const unknownIn = ({ properties }: TObject) =>
  `A member is not known. The members are: "${Object.keys(properties).join('", "')}".`;

/** The example of the body, or else the member's own, as JSON; of a list its first item, because further ones can be invalid on purpose. */
function exampleOf({ examples, properties }: TObject, name: string): string {
  const example = Object.hasOwn(examples[0], name) ? examples[0][name] : properties[name]!.examples[0];
  return JSON.stringify(Array.isArray(example) ? example.slice(0, 1) : example);
}
