import type { Texts } from '../ui/in-language.ts';

export const SIGN_IN_TEXTS = {
  conditions: ['By creating an account you accept:', 'Ao criar a conta, aceita:'],
  signUpLead: `Plan Free. Credits a month: {credits}. API keys: {keys}.
    Plano Gratuito. Créditos por mês: {credits}. Chaves: {keys}.`,
  noAccountYet: ['No account yet?', 'Ainda não tem conta?'],
  haveAccount: ['Already have an account?', 'Já tem conta?'],
  forgot: ['Forgot the password?', 'Esqueceu-se da palavra-passe?'],
  forgotTitle: ['Reset the password', 'Repor a palavra-passe'],
  forgotLead: `We send you a link that works for an hour.
    Enviamos uma ligação, válida durante uma hora.`,
  forgotNoMail: `This service sends no email. Ask its operator for a new link.
    Este serviço não envia emails. Peça uma nova ligação ao operador.`,
  seeMail: ['Check your email', 'Verifique o seu email'],
  seeMailLead: `A link for {email} is on its way, unless five were sent this hour. It works for an hour.
    Uma ligação para {email} vai a caminho, salvo se já foram enviadas cinco nesta hora. É válida durante uma hora.`,
  confirmButton: ['Confirm', 'Confirmar'],
  invitationTitle: ['Choose a password', 'Escolha uma palavra-passe'],
  invitationLead: `You were invited to the account “{account}”. Your sign-in is {email}.
    Recebeu um convite para a conta “{account}”. Vai iniciar sessão com {email}.`,
  invitationReset: ['Account “{account}”, for {email}.', 'Conta “{account}”, para {email}.'],
  invitationButton: ['Open the dashboard', 'Abrir o painel'],
  elsewhereTitle: ['This address belongs to another account', 'Este endereço pertence a outra conta'],
  elsewhereLead: `“{account}” invited {email}. Have another address invited, or leave the other account first.
    “{account}” convidou {email}. Peça um convite para outro endereço, ou abandone primeiro a outra conta.`,
  linkInvalid: ['This link is not valid any more', 'Esta ligação já não é válida'],
  linkInvalidLead: ['It was used or has expired.', 'Já foi usada ou expirou.'],
  newLinkInvitation: ['Ask the sender of the invitation for another.', 'Peça outra ao remetente do convite.'],
  newLink: ['Ask for a new link', 'Pedir uma nova ligação'],

  wrongSignIn: ['The email or the password is wrong.', 'Email ou palavra-passe incorretos.'],
  wrongOrUnconfirmed: `The email or the password is wrong, or the email is not confirmed yet: check your email.
    Email ou palavra-passe incorretos, ou o email ainda não foi confirmado: verifique o seu email.`,
  emailTaken: ['There is an account with this email already.', 'Já existe uma conta com este email.'],
  signInInstead: ['Sign in instead.', 'Inicie sessão.'],
  newEmailLead: ['Sign in as {email} from now on.', 'A partir de agora vai iniciar sessão com {email}.'],
  secondFactorLead: `Sign-ins then also ask for a code of an authenticator app. Your other sessions end.
    O início de sessão passa a pedir também um código de uma aplicação de autenticação. As suas outras sessões terminam.`,
  secondFactorRequired: `Owners of an account need a second factor here. Set it up to go on.
    Aqui os proprietários de uma conta precisam de um segundo fator. Configure-o para continuar.`,
  secondFactorOn: `On: a sign-in asks for a code of your authenticator app.
    Ativo: o início de sessão pede um código da sua aplicação de autenticação.`,
  setUp: ['Set up the second factor', 'Configurar o segundo fator'],
  scanLead: `Scan this picture with an authenticator app, or type the secret into it.
    Leia esta imagem com uma aplicação de autenticação, ou escreva nela o segredo.`,
  scanLabel: ['QR code with the secret', 'Código QR com o segredo'],
  openApp: ['Open an app on this device', 'Abrir uma aplicação neste dispositivo'],
  secretLabel: ['Secret for the app', 'Segredo para a aplicação'],
  backupCodes: ['Backup codes', 'Códigos de recuperação'],
  backupCodesLead: `Each replaces a code of the app once: keep them elsewhere. They are shown only now.
    Cada um substitui uma vez um código da aplicação: guarde-os noutro sítio. Só são mostrados agora.`,
  backupCodesLeft: `1 backup code is left. | {count} backup codes are left.
    Resta 1 código de recuperação. | Restam {count} códigos de recuperação.`,
  backupCodesFile: ['backup-codes.txt', 'codigos-de-recuperacao.txt'],
  download: ['Download', 'Descarregar'],
  backupCodesKept: ['I have kept them', 'Já os guardei'],
  newBackupCodes: ['New backup codes', 'Novos códigos de recuperação'],
  newBackupCodesLead: ['Those that you have now stop working.', 'Os códigos atuais deixam de funcionar.'],
  secondFactorOffTitle: ['Turn off the second factor', 'Desativar o segundo fator'],
  secondFactorOffLead: `A sign-in then asks only for your password. Your other sessions end.
    O início de sessão passa a pedir só a palavra-passe. As suas outras sessões terminam.`,
  codeTitle: ['Enter the code', 'Introduza o código'],
  codeHint: ['The six digits that the app shows now.', 'Os seis algarismos que a aplicação mostra agora.'],
  codeOrBackupHint: `The six digits of your app, or a backup code. Without either, ask the operator.
    Os seis algarismos da aplicação, ou um código de recuperação. Sem nenhum, contacte o operador.`,
  codeWrong: ['The code is wrong, too old or used.', 'O código está errado, é antigo ou já foi usado.'],
  codeStartAgain: ['Start again', 'Começar de novo'],
} as const satisfies Texts;
