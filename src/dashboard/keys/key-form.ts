import { findKey, type ListedKey } from '../../metering/keys/list.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { formHandlers, type Refusal, redirectTo } from '../request/forms.ts';
import { type FormPage, formPage, notFoundPage } from '../request/layout.ts';

/**
 * A form about the key of the path. A key of another account gets the same 404 as an unknown one. A key that was revoked, perhaps in
 * another tab, has no forms: its own page says so.
 */
export function keyForm(page: {
  form(context: MemberContext, key: ListedKey): Omit<FormPage, 'cancel'>;
  checks?: 'name'[];
  /** Whether connections have it, too. */
  ofConnections?: true;
  submit(context: MemberContext, key: ListedKey): Promise<PageResponse | Refusal>;
}) {
  async function open<T>(context: MemberContext, next: (key: ListedKey) => Promise<T>) {
    const key = await findKey(context.tools.sql, context.account.id, context.id);
    if (key === null || (key.connection && page.ofConnections !== true)) return notFoundPage(context);
    return key.revoked === null ? next(key) : redirectTo(context, `/keys/${key.id}`);
  }
  return formHandlers({
    show: (context: MemberContext, refusal) =>
      open(context, (key) =>
        formPage(context, { ...page.form(context, key), cancel: `/keys/${key.id}`, refusal }),
      ),
    checks: page.checks ?? [],
    submit: (context) => open(context, (key) => page.submit(context, key)),
  });
}
