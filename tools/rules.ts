import { join } from 'node:path';

const RULES = join(import.meta.dir, '../deploy/prometheus/rules.yml');

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: {
    summary: string;
    /** The line that the service logs then. */
    log?: string;
    cause: string;
    action: string;
    runbook: string;
  };
}

const { groups } = Bun.YAML.parse(await Bun.file(RULES).text()) as { groups: { rules: Rule[] }[] };

export const rules = groups.flatMap((group) => group.rules);

/** The table of rules in docs/operating.md. Each has the anchor that its `runbook` names. */
export const rulesTable = [
  ['rule, or line of the log', 'cause', 'what to do'],
  ...rules.map(({ alert, annotations: { log, cause, action } }) => [
    `<a id="${alert.toLowerCase()}"></a>\`${alert}\`${log === undefined ? '' : `, \`${log}\``}`,
    cause,
    action,
  ]),
];
