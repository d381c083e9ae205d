import type { MemberContext, PageResponse } from '../context.ts';
import { type Checked, formHandlers, presentPassword, type Refusal, refusalOf } from '../request/forms.ts';
import { type FormPage, formPage } from '../request/layout.ts';
import type { HtmlValue } from '../ui/html.ts';
import { presentRefusal } from './sign-in.ts';

/**
 * The handlers of a member's page with one form, which asks for their password, too.
 * @param form.page its words and further fields, or a page in its place
 * @param form.faults of sent fields, checked before the password, as are the `checks`
 */
export function confirmedForm(form: {
  page(context: MemberContext): FormPage | PageResponse | Promise<FormPage | PageResponse>;
  checks?: Checked[];
  faults?(context: MemberContext): Record<string, HtmlValue>;
  submit(context: MemberContext): Promise<PageResponse | Refusal>;
}) {
  return formHandlers({
    async show(context: MemberContext, refusal) {
      const page = await form.page(context);
      if (!('title' in page)) return page;
      const fields = [...(page.fields ?? []), presentPassword(context.messages)];
      return formPage(context, { username: context.user.email, ...page, fields, refusal });
    },
    ...(form.checks && { checks: form.checks }),
    submit: async (context) =>
      refusalOf(form.faults?.(context) ?? {}) ?? (await presentRefusal(context)) ?? form.submit(context),
  });
}
