import { type Command, InvalidArgumentError } from 'commander';
import { RefusedError } from '../errors.ts';
import { validNif } from '../http/nif.ts';
import { defineCommand, subcommand } from '../terminal/command.ts';
import { printableJson } from '../terminal/text.ts';
import { writeCompany } from './present.ts';
import type { Company } from './schema.ts';
import { findCompanies, forgetCompany } from './store.ts';

/** `companies show` and `companies forget`: the stored records. */
export function recordCommands(program: Command): void {
  const companies = subcommand(
    program,
    'companies',
    'the directory of companies, and stored company records',
  );

  defineCommand(
    companies
      .command('show')
      .argument('<nif>', 'nine digits', nif)
      .description('the stored record of a company')
      .addHelpText('after', '\nExample:\n  bun directory companies show 500002576'),
    async ({ sql, config }, nif: string) => {
      const company = (await findCompanies(sql, [nif], config.recordMaxAgeS)).get(nif);
      if (company === undefined) throw new RefusedError(`no record of ${nif} is stored`);
      return {
        ...(JSON.parse(writeCompany(company)) as Company),
        fetchedAt: new Date(company.fetchedAt).toISOString(),
        source: company.source,
      };
    },
    (record) => printableJson(record, 2),
  );

  defineCommand(
    companies
      .command('forget')
      .argument('<nif>', 'nine digits', nif)
      .description('remove the stored record of a company, so that the next lookup refreshes it')
      .addHelpText('after', '\nExample:\n  bun directory companies forget 500002576'),
    async ({ sql }, nif: string) => ({ nif, forgotten: await forgetCompany(sql, nif) }),
    ({ nif, forgotten }) => (forgotten ? `the record of ${nif} is gone` : `no record of ${nif} was stored`),
  );
}

function nif(text: string): string {
  const digits = validNif(text);
  if (digits !== null) return digits;
  throw new InvalidArgumentError('It must be a NIF: nine digits with a right check digit.');
}
