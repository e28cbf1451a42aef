/** The first-run page: the server, the sign-in, the vault. It continues where it was left. */

import { type Client, unwrap } from '../../client/calls.ts'
import {
  ApiError,
  createVault,
  hasVault,
  judgePassphrase,
  keepMasterKey,
  loadMasterKey,
  OfflineError,
  openVault,
  type PassphraseStrength,
  SignedOutError,
} from '../../client/index.ts'
import { tryTyped } from '../../client/vault/typed-secret.ts'
import { accountCards, copiesCards, showCards } from './cards.ts'
import { openClient } from './client.ts'
import { describe } from './describe.ts'
import { deviceIdOf, guessName } from './device-name.ts'
import { countUnsent, personStore } from './forget-person.ts'
import { act, ask, attempt, element } from './page.ts'
import { platform } from './platform.ts'
import { changeSettings, originsOf, readSettings, removeServerPermission, type Settings } from './settings.ts'
import { type TextName, text } from './text.ts'

/** The index of each step's entry in the list at the top of the page. */
const steps = { server: 0, 'sign-in': 1, unlock: 2, create: 2, recovery: 2, done: 3 }

const verdicts: Record<PassphraseStrength['level'], TextName> = {
  refused: 'strengthRefused',
  weak: 'strengthWeak',
  good: 'strengthGood',
  strong: 'strengthStrong',
}

/** Names of the person and their server. They make a passphrase weak, because an attacker would try them first. */
let [person, server] = ['', '']
/** The user for whom the current step is shown. */
let userId = ''
let signInTab: number | undefined
let onPaper = () => {}
/** Ends the step that waits for the recovery code to be written down. */
let giveUp = (_reason: Error) => {}

act('server', 'submit', async () => {
  const typed = fieldOf('server', 'address').value.trim()
  const address = /^\w+:\/\//.test(typed) ? typed : `https://${typed}`
  // Chromium accepts a space in a host.
  if (/\s/.test(typed) || !URL.canParse(address)) throw new Error(text('wrongAddress'))
  const baseUrl = new URL(address).origin
  // Asks before anything else: a browser shows its permission prompt only right after a click.
  const isAllowed = await platform.permissions.request({ origins: originsOf(baseUrl) }).catch((cause) => {
    throw new Error(text('wrongAddress'), { cause })
  })
  if (!isAllowed) throw new Error(text('notPermitted'))
  const { baseUrl: before, deviceId = deviceIdOf(guessName()), userId } = await readSettings()
  // A working extension keeps its address until the new one answers.
  if (userId) await reach({ baseUrl, deviceId })
  await changeSettings({ baseUrl, deviceId })
  if (before && originsOf(before).join() !== originsOf(baseUrl).join()) await removeServerPermission(before)
  if (userId) await ask({ ask: 'start' })
  await goOn()
})
act('other-server', 'click', async () => show('server'))
act('sign-in', 'submit', async () => {
  const client = openClient(await readSettings())
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body: { returnTo: '/' } }))
  signInTab = (await platform.tabs.create({ url: authorizationUrl })).id
})
platform.cookies.onChanged.addListener(({ cookie, removed }) => {
  if (cookie.name !== 'service_session' || cookie.path !== '/') return
  if (isVaultStep()) attempt(endIfOther)
  else if (!removed && !element('sign-in').hidden) attempt(goOn)
})
act('unlock', 'submit', () =>
  forPerson(async (client, userId) => {
    const secret = fieldOf('unlock', 'secret').value
    await keepKey(userId, await tryTyped(userId, secret, (credentials) => openVault(client, credentials)))
    await ask({ ask: 'start' })
    await goOn()
  }),
)
act('create', 'submit', () =>
  forPerson(async (client, userId) => {
    const passphrase = fieldOf('create', 'secret').value
    if (passphrase !== fieldOf('create', 'again').value) throw new Error(text('twoPassphrases'))
    const draft = await createVault(client, { userId, passphrase, known: [person, server] })
    show('recovery')
    showCode(draft.recoveryCode)
    await new Promise<void>((resolve, reject) => {
      onPaper = resolve
      giveUp = reject
    })
    await keepKey(userId, await draft.confirm())
    await goOn()
  }),
)
// Loads the dictionaries early, so that they are there when the passphrase is typed.
fieldOf('create', 'secret').addEventListener('focus', () => void judgePassphrase(''), { once: true })
fieldOf('create', 'secret').addEventListener('input', () => attempt(showStrength))
act('recovery', 'submit', async () => onPaper())
act('sign-out', 'click', async () => {
  const { response } = await openClient(await readSettings())
    .as(userId)
    .POST('/api/v1/auth/logout')
  // The session of somebody else who has signed in meanwhile stays.
  const isOver = response.status === 401 || response.headers.get('x-error-code') === 'ForbiddenUser'
  if (!response.ok && !isOver) throw new Error(text('oddAnswer'))
  await goOn()
})
act('options', 'click', async () => platform.runtime.openOptionsPage())

// The popup and the settings open the page with this hash to change the address.
if (location.hash === '#server') showServer((await readSettings()).baseUrl)
else await attempt(goOn)

/** Runs a step about the vault for the person for whom it is shown. Ends the step if somebody else is signed in. */
async function forPerson(work: (client: Client, userId: string) => Promise<void>): Promise<void> {
  const own = userId
  try {
    await work(openClient(await readSettings()).as(own), own)
  } catch (error) {
    if (!(error instanceof SignedOutError)) throw error
    await goOn()
    throw new Error(text('stepEnded'), { cause: error })
  } finally {
    if (element('recovery').hidden) showCode('')
  }
}

/** Ends the step if its person is no longer signed in. Asks the server: the cookie may have changed by a mere renewal. */
async function endIfOther(): Promise<void> {
  const { data, response } = await openClient(await readSettings()).GET('/api/v1/auth/session')
  if (data ? data.user.user_id === userId : response.status !== 401) return
  const isWaiting = !element('recovery').hidden
  giveUp(new SignedOutError(true))
  if (isWaiting) return
  await goOn()
  throw new Error(text('stepEnded'))
}

function isVaultStep(): boolean {
  return (['unlock', 'create', 'recovery'] as const).some((step) => !element(step).hidden)
}

function showCode(text: string): void {
  const code = element('recovery').querySelector('code')
  if (code) code.textContent = text
}

async function goOn(): Promise<void> {
  const settings = await readSettings()
  const { baseUrl, userId: before } = settings
  if (!baseUrl || !(await platform.permissions.contains({ origins: originsOf(baseUrl) }))) return showServer(baseUrl)
  server = new URL(baseUrl).host
  element('sign-in-at').textContent = text('signInAt', server)
  const client = openClient(settings)
  const session = await reach(settings)
  if (session.response.status === 401) return show('sign-in')
  if (signInTab !== undefined) await platform.tabs.remove([signInTab]).catch(() => {})
  signInTab = undefined
  const { user_id, email, name } = unwrap(session).user
  userId = user_id
  // One person's bookmarks must not go into another person's account, nor be lost unsent.
  if (before && before !== userId && ((await loadMasterKey(before)) || (await countUnsent(before)) > 0)) {
    show('sign-in')
    throw new Error(text('somebodyElse'))
  }
  if (before && before !== userId) {
    // The key is gone, but the sign-out that deleted it may have stopped half way.
    await personStore(before).wipe()
    await changeSettings({ isPaused: false })
  }
  await changeSettings({ userId })
  // Passes their name, so that they can sign out here: they may have chosen the wrong account.
  if (!(await loadMasterKey(userId)))
    return show((await hasVault(client, { userId })) ? 'unlock' : 'create', email || name)
  show('done')
  const { state } = await ask({ ask: 'state' })
  if (state?.setup !== 'ready' || state.sync?.state === 'signed-out') await ask({ ask: 'start' })
  await follow()
}

/** Asks the server who is signed in. If that fails, shows the form for its address. */
async function reach(settings: Settings) {
  const { baseUrl = '' } = settings
  const { host } = new URL(baseUrl)
  try {
    const session = await openClient(settings).GET('/api/v1/auth/session')
    if (session.response.status !== 401) unwrap(session)
    return session
  } catch (cause) {
    // The client does not follow redirects, so this looks where the address leads. The person must confirm the new one.
    const answering = await fetch(`${baseUrl}/api/v1/health`, { credentials: 'omit' }).then(
      ({ url }) => new URL(url),
      () => new URL(baseUrl),
    )
    showServer(answering.origin)
    if (answering.origin !== baseUrl) throw new Error(text('serverMoved', host, answering.host), { cause })
    if (cause instanceof ApiError) throw cause
    const status = cause instanceof OfflineError ? cause.status : undefined
    const [isSilent, isRedirect] = [status === undefined, status === 0]
    throw new Error(text(isSilent ? 'noAnswer' : isRedirect ? 'serverElsewhere' : 'notServer', host), { cause })
  }
}

async function follow(): Promise<void> {
  for (;;) {
    const { state, copies = [] } = await ask({ ask: 'held' })
    if (state?.sync?.reason === 'keys') return show('unlock')
    const { headline, detail, mood } = state ? describe(state) : { headline: '' }
    element('progress').textContent = [headline, mood === 'needs' && detail].filter(Boolean).join('. ')
    showCards([...copiesCards(copies, () => {}), ...(state ? await accountCards(state) : [])])
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

async function showStrength(): Promise<void> {
  const passphrase = fieldOf('create', 'secret').value
  const { level, advice } = await judgePassphrase(passphrase, [person, server])
  if (passphrase !== fieldOf('create', 'secret').value) return
  const verdict = text('strength', text(verdicts[level]))
  const isWeak = level === 'refused' || level === 'weak'
  // `judgePassphrase` gives its advice only in English.
  const known = text('language') === 'en' ? advice.join(' ') : ''
  element('strength').textContent = passphrase && (isWeak ? `${verdict} ${known || text('strengthAdvice')}` : verdict)
}

function showServer(baseUrl = ''): void {
  fieldOf('server', 'address').value = baseUrl
  show('server')
}

/** Also asks for persistent storage, because unsent edits are stored from now on. A worker cannot ask for it. */
async function keepKey(userId: string, { masterKey }: { masterKey: Uint8Array }): Promise<void> {
  await keepMasterKey(userId, masterKey)
  navigator.storage.persist().catch(() => {})
}

/** @param whose the name of the person who can sign out here; empty if that is not offered */
function show(step: keyof typeof steps, whose = ''): void {
  person = whose
  element('whose').hidden = whose === ''
  element('signed-in-as').textContent = text('signedInAs', whose)
  for (const one of Object.keys(steps)) element(one).hidden = one !== step
  for (const [index, stage] of [...element('stages').children].entries()) {
    if (index === steps[step]) stage.setAttribute('aria-current', 'step')
    else stage.removeAttribute('aria-current')
  }
  element(step).querySelector<HTMLElement>('input, button')?.focus()
}

function fieldOf(form: string, name: string): HTMLInputElement {
  return element<HTMLFormElement>(form).elements.namedItem(name) as HTMLInputElement
}
