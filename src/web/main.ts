import {
  type Client,
  createClient,
  createSync,
  createVault,
  deriveKeys,
  hasVault,
  type Keys,
  keepMasterKey,
  loadMasterKey,
  openVault,
  unwrap,
} from '../client/index.ts'
import { showBookmarks } from './bookmarks.ts'
import { type Device, thisDevice } from './device.ts'
import { button, element, field, form, tell } from './dom.ts'

const main = document.querySelector('main') as HTMLElement
const device = thisDevice()
const client = createClient({ baseUrl: location.origin, deviceId: device.id })

/** Stores who signed in last. Without it nobody ever signed in here, so there is nobody to ask the service for. */
const remembered = 'signed-in-user'

const user = localStorage.getItem(remembered) === null ? undefined : await findUser(client)
if (!user) showSignIn()
else await start(user, await findKeys(user.user_id))

interface User {
  user_id: string
  name: string
}

/** Undefined if nobody is signed in. Offline, the last user, whose bookmarks are on this device. */
async function findUser(client: Client): Promise<User | undefined> {
  try {
    const answer = await client.GET('/api/v1/auth/session')
    if (answer.response.status === 401) return undefined
    const { user_id, name } = unwrap(answer).user
    localStorage.setItem(remembered, JSON.stringify({ user_id, name }))
    return { user_id, name }
  } catch (error) {
    const last = localStorage.getItem(remembered)
    if (error instanceof TypeError && last) return JSON.parse(last) as User
    throw error
  }
}

function showSignIn(): void {
  const failure = new URLSearchParams(location.search).get('error')
  const signIn = async () => {
    const returnTo = `/${location.pathname === '/login' ? '' : location.search}`
    const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body: { returnTo } }))
    localStorage.setItem(remembered, '')
    location.assign(authorizationUrl)
  }
  main.replaceChildren(
    element('h2', {}, 'Your bookmarks, on all your devices, readable by you alone'),
    ...(failure === null ? [] : [element('p', { role: 'alert' }, `${failure}.`)]),
    button('Sign in', signIn, { className: 'primary' }),
  )
}

/** The keys that this browser keeps, or those that the passphrase or recovery code opens. */
async function findKeys(userId: string): Promise<Keys> {
  const masterKey = device.keepsKey ? await loadMasterKey(userId) : undefined
  if (masterKey) return deriveKeys(masterKey)
  return (await hasVault(client)) ? askForPassphrase(userId) : askForNewPassphrase(userId)
}

function askForPassphrase(userId: string): Promise<Keys> {
  return new Promise((resolve) => {
    const open = async ({ secret = '', kind }: Record<string, string>) => {
      const credentials = kind === 'recovery' ? { userId, recoveryCode: secret } : { userId, passphrase: secret }
      const { keys, masterKey } = await openVault(client, credentials)
      if (device.keepsKey) await keepMasterKey(userId, masterKey)
      resolve(keys)
    }
    main.replaceChildren(
      form(
        open,
        { className: 'card' },
        element('h2', {}, 'Open your bookmarks'),
        element(
          'label',
          {},
          element('span', {}, 'I have the'),
          element(
            'select',
            { name: 'kind' },
            element('option', { value: 'passphrase' }, 'passphrase'),
            element('option', { value: 'recovery' }, 'recovery code'),
          ),
        ),
        field('Passphrase or code', {
          name: 'secret',
          type: 'password',
          required: true,
          autocomplete: 'current-password',
          autofocus: true,
        }),
        element('button', { type: 'submit', className: 'primary' }, 'Open'),
      ),
    )
  })
}

function askForNewPassphrase(userId: string): Promise<Keys> {
  return new Promise((resolve) => {
    const create = async ({ passphrase = '' }: Record<string, string>) => {
      const { keys, masterKey, recoveryCode } = await createVault(client, { userId, passphrase })
      if (device.keepsKey) await keepMasterKey(userId, masterKey)
      main.replaceChildren(
        element(
          'section',
          { className: 'card' },
          element('h2', {}, 'Print this recovery code'),
          element('p', {}, 'It opens your bookmarks if you forget the passphrase. It is shown only once.'),
          element('output', { className: 'code', id: 'recovery-code' }, recoveryCode),
          button('I have it on paper', () => resolve(keys), { className: 'primary' }),
        ),
      )
    }
    main.replaceChildren(
      form(
        create,
        { className: 'card' },
        element('h2', {}, 'Choose a passphrase'),
        element('p', {}, 'It encrypts your bookmarks before they leave this device. Nobody can reset it.'),
        field('Passphrase', {
          name: 'passphrase',
          type: 'password',
          required: true,
          minLength: 8,
          autocomplete: 'new-password',
          autofocus: true,
        }),
        element('button', { type: 'submit', className: 'primary' }, 'Create my vault'),
      ),
    )
  })
}

async function start({ user_id: userId, name }: User, keys: Keys): Promise<void> {
  const sync = createSync({ client, keys, userId, deviceId: device.id, ...device.open(userId) })
  sync.on('error', ({ error }) => tell(error.message, 'alert'))
  await sync.start()
  showBookmarks(main, { client, sync, keys, title: deviceTitle(device, name) })
}

function deviceTitle({ name }: Device, person: string): string {
  return person === '' ? name : `${person} · ${name}`
}
