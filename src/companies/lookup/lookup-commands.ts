import { type Command, InvalidArgumentError } from 'commander';
import { RefusedError } from '../../platform/errors.ts';
import { defineCommand, existingCommand } from '../../platform/terminal/command.ts';
import { printableJson } from '../../platform/terminal/text.ts';
import { listedNif } from '../nif-parameter.ts';
import { type Company, writeCompany } from './lookup-schema.ts';
import { createCompanyReader, forgetCompany } from './lookup-store.ts';

/** `companies show` and `companies forget`: the stored records. */
export function recordCommands(program: Command): void {
  const companies = existingCommand(program, 'companies');

  defineCommand(
    companies
      .command('show')
      .argument('<nif>', 'nine digits', nif)
      .description('the stored record of a company')
      .addHelpText('after', '\nExample:\n  bun directory companies show 599910020'),
    'the stored record as a lookup answers it, with fetchedAt and source',
    async ({ sql, config }, nif: string) => {
      const company = await createCompanyReader(sql, config.recordMaxAgeS).findCompany(nif);
      if (company === null) throw new RefusedError(`no record of ${nif} is stored`);
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
      .addHelpText('after', '\nExample:\n  bun directory companies forget 599910020'),
    '{nif, forgotten}',
    async ({ sql }, nif: string) => ({ nif, forgotten: await forgetCompany(sql, nif) }),
    ({ nif, forgotten }) => (forgotten ? `the record of ${nif} is gone` : `no record of ${nif} was stored`),
  );
}

function nif(text: string): string {
  const digits = listedNif(text);
  if (digits !== null) return digits;
  throw new InvalidArgumentError('It must be a NIF: nine digits with a right check digit.');
}
