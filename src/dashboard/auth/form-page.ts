import type { MemberContext, PageContext, PageResponse } from '../context.ts';
import { type Checked, faultsOf, presentPassword, type Refusal, refusalOf } from '../request/forms.ts';
import { type FormPage, formPage } from '../request/layout.ts';
import type { HtmlValue } from '../ui/html.ts';
import { type Limit, limited } from './limits.ts';
import { presentRefusal } from './sign-in.ts';

/** The checks of a sent form, in their order, and the work that it does once it has passed them. */
interface FormHandlers<Context> {
  /** Fields that have one rule in every form. */
  checks?: Checked[];
  /** The faults of further fields, falsy for fields without one. */
  faults?(context: Context): Record<string, HtmlValue>;
  /** The attempts that it counts as. */
  limit?(context: Context): Limit[];
  submit(context: Context): Promise<PageResponse | Refusal>;
}

/** The handlers of a page with a form. A refused form is shown again, with the reason. */
export function formHandlers<Context extends PageContext>(
  form: FormHandlers<Context> & {
    show(context: Context, refusal: Refusal | null): Promise<PageResponse>;
    /** Asks for the password before the limit. */
    confirm?(context: Context): Promise<Refusal | null>;
  },
) {
  return {
    GET: (context: Context) => form.show(context, null),
    async POST(context: Context): Promise<PageResponse> {
      const outcome =
        refusalOf(faultsOf(context, form.checks ?? [])) ??
        refusalOf(form.faults?.(context) ?? {}) ??
        (await form.confirm?.(context)) ??
        (await limited(context, form.limit?.(context) ?? [])) ??
        (await form.submit(context));
      return 'refused' in outcome ? form.show(context, outcome) : outcome;
    },
  };
}

/**
 * The handlers of a member's page that is one form.
 * @param form.page its words and fields, or a page in its place
 * @param form.password whether it asks for the member's password, too
 */
export function memberForm(
  form: FormHandlers<MemberContext> & {
    page(context: MemberContext): FormPage | PageResponse | Promise<FormPage | PageResponse>;
    password?: true;
  },
) {
  return formHandlers({
    ...form,
    async show(context: MemberContext, refusal) {
      const page = await form.page(context);
      if (!('title' in page)) return page;
      if (!form.password) return formPage(context, { ...page, refusal });
      const fields = [...(page.fields ?? []), presentPassword(context.messages)];
      return formPage(context, { username: context.user.email, ...page, fields, refusal });
    },
    ...(form.password && { confirm: presentRefusal }),
  });
}
