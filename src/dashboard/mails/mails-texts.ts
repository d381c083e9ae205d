/** The texts of mails in English and Portuguese. MESSAGES has them beside those of pages. */
export const MAIL_TEXTS = {
  /** The first line of a mail to a member. */
  mailAccount: ['Account: {account}', 'Conta: {account}'],
  mailInvitationSubject: ['Invitation to an account', 'Convite para uma conta'],
  mailInvitedBy: `{inviter} invites you to use the account of their company here.
    Recebeu um convite de {inviter} para usar a conta da sua empresa neste serviço.`,
  mailInvitedByOperator: `The operator of this service invites you to an account here.
    Recebeu um convite do operador deste serviço para uma conta.`,
  mailInvitation: `Open this link to choose a password. It works once, until {until}.
    Abra esta ligação para escolher uma palavra-passe. Funciona uma vez, até {until}.`,
  mailInvitationElsewhere: `
    You sign in with this address already, and an address belongs to one account only. Sign in to leave or delete that account, then open this link. Or ask for an invitation to another address. The link works once, until {until}.
    Já inicia sessão com este endereço, e um endereço pertence a uma só conta. Inicie sessão para abandonar ou eliminar essa conta, e abra depois esta ligação. Ou peça um convite para outro endereço. A ligação funciona uma vez, até {until}.`,
  mailInvitationIgnore: ['If you did not expect this, ignore it.', 'Se não o esperava, ignore este email.'],
  mailNewPassword: `The operator sends you this link for a new password. It works once, until {until}.
    O operador envia-lhe esta ligação para uma nova palavra-passe. Funciona uma vez, até {until}.`,
  mailSuspendedSubject: ['Your account is suspended', 'A sua conta está suspensa'],
  mailDeletedSubject: ['Your account was deleted', 'A sua conta foi eliminada'],
  mailDeleted: `{by} deleted this account. Its keys are refused, and its members and names are removed.
    {by} eliminou esta conta. As chaves são recusadas, e os membros e nomes foram removidos.`,
  mailDeletedEnd: `It can’t be restored. If you did not expect this, tell the operator of this service.
    Não é possível recuperá-la. Se não o esperava, avise o operador deste serviço.`,
  mailConfirm: `Open this link to confirm your email and choose a password. It works for an hour.
    Abra esta ligação para confirmar o seu email e escolher uma palavra-passe. É válida durante uma hora.`,
  mailExistsSubject: ['You have an account already', 'Já tem uma conta'],
  mailExists: `Someone, perhaps you, gave your email for an account. Sign in, or choose a new password here.
    Este endereço foi indicado para uma conta, talvez por si. Inicie sessão, ou escolha aqui uma nova palavra-passe.`,
  mailNewEmail: `Open this link to use this address for your account from now on. It works for an hour.
    Abra esta ligação para passar a usar este endereço na sua conta. É válida durante uma hora.`,
  mailChangeAskedSubject: ['A new email for your account', 'Um novo email para a sua conta'],
  mailChangeAsked: `Someone with your password asked for it. Not you? Change your password now: that stops it.
    Alguém com a sua palavra-passe fez o pedido. Se não foi um pedido seu, altere já a palavra-passe: isso impede-o.`,
  mailChangedSubject: ['Your email was changed', 'O seu email foi alterado'],
  mailChanged: `You no longer sign in with this address. If it was not you, tell the operator of this service at once.
    Já não inicia sessão com este endereço. Se não fez este pedido, avise de imediato o operador.`,
  mailPasswordChangedSubject: ['Your password was changed', 'A sua palavra-passe foi alterada'],
  mailPasswordChanged: `Other sessions have ended. Not you? Choose a new password here, and tell the operator.
    As outras sessões terminaram. Se não foi uma alteração sua, escolha aqui outra palavra-passe e avise o operador.`,
  mailSecondFactorOnSubject: ['Your second factor was turned on', 'O seu segundo fator foi ativado'],
  mailSecondFactorOffSubject: ['Your second factor was turned off', 'O seu segundo fator foi desativado'],
  mailBackupCodesSubject: ['Your backup codes were renewed', 'Códigos de recuperação renovados'],
  mailNotYou: `It applies from your next sign-in. Not you? Change your password now, and tell the operator.
    Aplica-se a partir do próximo início de sessão. Se não foi uma alteração sua, altere já a palavra-passe e avise o operador.`,
  mailSecondFactorReset: `The operator turned it off. Set it up again. Did you not ask? Tell the operator now.
    O operador desativou-o. Configure-o de novo. Se não o pediu, avise já o operador.`,
  mailConnectedSubject: ['An agent was connected', 'Foi ligado um agente'],
  mailConnected: `You let an agent of {client} use this account. See what it may spend and do, or end it, here:
    Permitiu que um agente de {client} use esta conta. Veja aqui o que pode gastar e fazer, ou desligue-o:`,
  mailConnectedEnd: `Not you? End it there now, change your password, and tell the operator of this service.
    Se não foi uma ligação sua, termine-a já, altere a palavra-passe e avise o operador deste serviço.`,
  mailCodeLockSubject: ['Ten wrong codes at your sign-in', 'Dez códigos errados no seu início de sessão'],
  mailCodeLock: `The password was right. Codes are refused until {until}. Not you? Choose a new password.
    A palavra-passe estava certa. Os códigos são recusados até {until}. Se não foi uma tentativa sua, escolha outra palavra-passe.`,
  mailReset: `Open this link to choose a new password. It works for an hour.
    Abra esta ligação para escolher uma nova palavra-passe. É válida durante uma hora.`,
  mailUsageSubject: `{percent}% of your included credits are used
    {percent}% dos créditos incluídos estão usados`,
  mailUsage: `Included credits used: {used} of {limit}. The next period begins on {end} (UTC).
    Créditos incluídos usados: {used} de {limit}. O período seguinte começa em {end} (UTC).`,
  mailUsagePurchased: `Until then, requests beyond the plan spend purchased credits: {credits} left.
    Até lá, os pedidos além do plano gastam créditos comprados (saldo: {credits}).`,
  mailUsageStops: `Until then, requests beyond the plan are refused, at no cost.
    Até lá, os pedidos além do plano são recusados, sem custo.`,
  mailUsageOff: ['Turn these emails off in the settings:', 'Desative estes emails nas definições:'],
  mailPlanSubject: {
    week: ['Your plan ends within 7 days', 'O seu plano termina nos próximos 7 dias'],
    ended: ['Your plan has ended', 'O seu plano terminou'],
  },
  mailPlanRenew: ['Ask the operator of this service to renew it.', 'Peça a renovação ao operador.'],
  mailBudgetSubject: `API keys have reached their credit limit
    Chaves que atingiram o limite de créditos`,
  mailBudgetMonth: `Requests with them are refused, at no cost, until {end} (UTC) or until you raise the limit.
    Os pedidos com elas são recusados, sem custo, até {end} (UTC) ou até aumentar o limite.`,
  mailBudgetEver: `Requests with them are refused, at no cost, until you raise the limit: it is not renewed.
    Os pedidos com elas são recusados, sem custo, até aumentar o limite: não se renova.`,
  mailBudgetSpent: `1 credit spent | {credits} credits spent
    1 crédito gasto | {credits} créditos gastos`,
  mailKeySubject: {
    week: ['API keys end within 7 days', 'Chaves que terminam nos próximos 7 dias'],
    day: ['API keys end within a day', 'Chaves que terminam nas próximas 24 horas'],
    expired: ['API keys have expired', 'Chaves que expiraram'],
    revoked: ['API keys were revoked', 'Chaves que foram revogadas'],
  },
  mailKeyLead: {
    week: ['Change the last day if programs still use them.', 'Altere a validade se ainda forem usadas.'],
    day: ['Change the last day if programs still use them.', 'Altere a validade se ainda forem usadas.'],
    expired: `Requests with them are refused, at no cost. A new last day makes them work again.
      Os pedidos com elas são recusados, sem custo. Com uma nova validade voltam a funcionar.`,
    revoked: `Requests with them are refused, at no cost. The account history says by whom.
      Os pedidos com elas são recusados, sem custo. O histórico da conta diz por quem.`,
  },
  mailIgnore: ['If you did not ask for this, ignore it.', 'Se não fez este pedido, ignore este email.'],
} as const;
