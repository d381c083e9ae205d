import { findKey, type ListedKey } from '../../metering/keys/list.ts';
import type { MemberContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { formHandlers, type Refusal } from '../request/forms.ts';
import { type FormPage, formPage, notFoundPage } from '../request/layout.ts';

/** A form about the key of the path. A key of another account gets the same 404 as an unknown one. */
export function keyForm(page: {
  form(context: MemberContext, key: ListedKey): Omit<FormPage, 'cancel'>;
  checks?: 'name'[];
  /** Whether connections have it, too. */
  ofConnections?: true;
  submit(context: MemberContext, key: ListedKey): Promise<PageResponse | Refusal>;
}) {
  const find = async ({ tools, account, id }: MemberContext) => {
    const key = await findKey(tools.sql, account.id, id);
    return key?.connection === true && page.ofConnections !== true ? null : key;
  };
  return formHandlers({
    async show(context: MemberContext, refusal) {
      const key = await find(context);
      if (key?.revoked !== null) return notFoundPage(context);
      return formPage(context, { ...page.form(context, key), cancel: `/keys/${key.id}`, refusal });
    },
    checks: page.checks ?? [],
    async submit(context) {
      const key = await find(context);
      return key === null ? notFoundPage(context) : page.submit(context, key);
    },
  });
}
