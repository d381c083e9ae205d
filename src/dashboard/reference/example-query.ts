/** The query of examples: many Portuguese companies have this word. */
export const EXAMPLE_QUERY = 'padaria';
