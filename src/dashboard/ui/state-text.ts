type Text = string | ((...values: never[]) => string);
type ValuesOf<T extends Text> = T extends (...values: infer Values) => string ? Values : [];

/** One of `messages.states`. */
type StateText = Record<'happened' | 'cost' | 'next', Text>;

/** The three sentences of a state with their values: what happened, what it costs, and what to do next. */
export function filled<State extends StateText>(
  { happened, cost, next }: State,
  ...values: [ValuesOf<State['happened']>?, ValuesOf<State['cost']>?, ValuesOf<State['next']>?]
): string {
  const said = [happened, cost, next].map((text, index) =>
    typeof text === 'string' ? text : (text as (...values: unknown[]) => string)(...(values[index] ?? [])),
  );
  return said.join(' ');
}
