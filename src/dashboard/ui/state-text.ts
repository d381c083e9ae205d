type Text = string | ((...values: never[]) => string);
type ValuesOf<T extends Text> = T extends (...values: infer Values) => string ? Values : [];

/** One of `messages.states`. */
interface StateText<Happened extends Text, Cost extends Text, Next extends Text> {
  happened: Happened;
  cost: Cost;
  next: Next;
}

/** The three sentences of a state with their values: what happened, what it costs, and what to do next. */
export function filled<Happened extends Text, Cost extends Text, Next extends Text>(
  { happened, cost, next }: StateText<Happened, Cost, Next>,
  ...values: [happened?: ValuesOf<Happened>, cost?: ValuesOf<Cost>, next?: ValuesOf<Next>]
): string {
  const said = [happened, cost, next].map((text, index) =>
    typeof text === 'string' ? text : (text as (...values: unknown[]) => string)(...(values[index] ?? [])),
  );
  return said.join(' ');
}
