import type { Texts } from '../ui/in-language.ts';

export const REQUEST_TEXTS = {
  skip: ['Skip to content', 'Ir para o conteúdo'],
  menu: ['Menu', 'Menu'],
  screen: ['Screen a list', 'Verificar lista'],
  otherLanguage: ['Português', 'English'],
  signOut: ['Sign out', 'Sair'],
  signedOut: ['You were signed out', 'A sua sessão terminou'],
  signedOutLead: `Nothing was changed. Sign in to send the form again.
    Nada mudou. Inicie sessão e volte a enviar o formulário.`,
  pressCopy: ['Press Ctrl+C', 'Prima Ctrl+C'],
  hidePassword: ['Hide', 'Ocultar'],
  passwordHint: ['At least {min} characters.', 'Pelo menos {min} caracteres.'],
  nameInvalid: ['Write a name of 1 to 200 characters.', 'Escreva um nome de 1 a 200 caracteres.'],
  passwordInvalid: ['A password has {min} to {max} characters.', 'Deve ter de {min} a {max} caracteres.'],
  passwordCommon: `This password is too common: it is among the first that are guessed. Choose another.
    Esta palavra-passe é demasiado comum: é das primeiras a ser adivinhadas. Escolha outra.`,
  passwordKnown: `Too similar to your email, your name or the name of this service. Choose another.
    Demasiado parecida com o seu email, o seu nome ou o nome deste serviço. Escolha outra.`,
  tooMany: ['Too many attempts. Try again in {wait}.', 'Demasiadas tentativas. Espere {wait}.'],
  ownersOnly: ['Only an owner can do this', 'Só um proprietário o pode fazer'],
  ownersOnlyLead: ['Ask an owner: the Members page lists them.', 'A página dos membros indica quem são.'],
  localTime: ['local time', 'hora local'],
  formTooLarge: `The form is larger than {max} KiB. Nothing was done or charged: send less of it.
    O formulário tem mais de {max} KiB. Nada foi feito nem cobrado: envie menos.`,
  formTooManyFields: `The form has too many fields. Nothing was done or charged.
    O formulário tem demasiados campos. Nada foi feito nem cobrado.`,
  reloadToSend: `Reload this page to send the form again.
    Recarregue esta página para reenviar o formulário.`,
  formTooSlow: `The form arrived too slowly. Send it again.
    O formulário demorou demasiado a chegar. Envie-o de novo.`,
  tryAgain: ['Try again in a moment.', 'Tente de novo dentro de momentos.'],
  tooManyRequestsLead: `You sent many requests within a minute. Nothing was charged. Wait a few seconds.
    Enviou muitos pedidos num minuto. Nada foi cobrado. Espere uns segundos.`,
  chargedPerhaps: `The request was made before, and may have been charged. A list is free for ten minutes.
    O pedido foi feito antes, e pode ter sido cobrado. Durante dez minutos, a mesma lista não volta a ser cobrada.`,
  keptList: `Your list. It is in the field again when you have signed in here; without scripts, copy it.
    A sua lista. Volta ao campo quando iniciar sessão aqui; sem scripts, copie-a.`,
  ownList: ['Your list', 'A sua lista'],
  back: ['Back to the dashboard', 'Voltar ao painel'],
} as const satisfies Texts;
