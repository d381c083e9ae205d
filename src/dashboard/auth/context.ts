import type { FormContext, FormTools, MemberForms } from '../request/context.ts';
import type { Auth, AuthParts } from './auth.ts';

/** The parts of the dashboard that sign-ins need. */
export interface AuthTools extends AuthParts, FormTools {
  auth: Auth;
}

/** A request for a page, as sign-ins need it. */
export interface AuthContext extends FormContext {
  tools: AuthTools;
}

/** The same for a signed-in user. */
export interface SignedInContext extends MemberForms {
  tools: AuthTools;
}
