import {
  type Client,
  createClient,
  createSync,
  deriveKeys,
  type Keys,
  keepMasterKey,
  loadMasterKey,
  unwrap,
} from '../client/index.ts'
import { showBookmarks } from './bookmarks.ts'
import { type Device, thisDevice } from './device.ts'
import { button, element, tell } from './dom.ts'
import { askForVault } from './vault.ts'

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
  const kept = device.keepsKey ? await loadMasterKey(userId) : undefined
  if (kept) return deriveKeys(kept)
  const { keys, masterKey } = await askForVault(main, { client, userId })
  if (device.keepsKey) await keepMasterKey(userId, masterKey)
  return keys
}

async function start({ user_id: userId, name }: User, keys: Keys): Promise<void> {
  const sync = createSync({ client, keys, userId, deviceId: device.id, ...device.open(userId) })
  sync.on('error', ({ error }) => tell(error.message, 'alert'))
  await sync.start()
  showBookmarks(main, { client, sync, keys, userId, title: deviceTitle(device, name) })
}

function deviceTitle({ name }: Device, person: string): string {
  return person === '' ? name : `${person} · ${name}`
}
