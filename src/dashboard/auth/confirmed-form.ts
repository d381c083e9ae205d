import type { MemberContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { type Checked, formHandlers, type Refusal, refusalOf } from '../request/forms.ts';
import { type FormPage, formPage } from '../request/layout.ts';
import type { HtmlValue } from '../ui/html.ts';
import { presentRefusal } from './sign-in.ts';

/**
 * The handlers of a member's page with one form, which asks for their password in the field `presentPassword`.
 * @param form.page its words and fields, or a page in its place
 * @param form.faults of sent fields, checked before the password, as are the `checks`
 */
export function confirmedForm<Context extends MemberContext>(form: {
  page(context: Context): FormPage | PageResponse | Promise<FormPage | PageResponse>;
  checks?: Checked[];
  faults?(context: Context): Record<string, HtmlValue>;
  submit(context: Context): Promise<PageResponse | Refusal>;
}) {
  return formHandlers({
    async show(context: Context, refusal) {
      const page = await form.page(context);
      return 'title' in page ? formPage(context, { username: context.user.email, ...page, refusal }) : page;
    },
    ...(form.checks && { checks: form.checks }),
    submit: async (context) =>
      refusalOf(form.faults?.(context) ?? {}) ?? (await presentRefusal(context)) ?? form.submit(context),
  });
}
