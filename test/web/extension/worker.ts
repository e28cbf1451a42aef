import {
  createClient,
  deriveKeys,
  indexedDbStore,
  loadMasterKey,
  type Sync,
  unwrap,
} from '../../../src/client/index.ts'
import { createSync } from '../../../src/client/worker.ts'
import { shareSessionWithSockets } from '../../../src/extension/index.ts'
import type { Question, WorkerState } from './messages.ts'
import type { ExtensionPlatform } from './platform.ts'
import { baseUrl, deviceId } from './service.ts'

declare const chrome: ExtensionPlatform

const life = crypto.randomUUID()
const sockets: string[][] = []
const sharing = shareSessionWithSockets(chrome.cookies, baseUrl)
let running = start()

chrome.runtime.onMessage.addListener((question, _sender, respond) => {
  answer(question).then(respond)
  return true
})

/** Undefined: nobody is signed in, or the page has not asked for the passphrase yet. */
async function start(): Promise<Sync | undefined> {
  const client = createClient({ baseUrl, deviceId })
  const session = await client.GET('/api/v1/auth/session')
  if (session.response.status === 401) return undefined
  const { user_id: userId } = unwrap(session).user
  const masterKey = await loadMasterKey(userId)
  if (!masterKey) return undefined
  await sharing
  const sync = createSync({
    client,
    keys: deriveKeys(masterKey),
    userId,
    deviceId,
    store: indexedDbStore(userId),
    webSocket: openWatched,
  })
  await sync.start()
  return sync
}

async function answer(question: Question): Promise<WorkerState> {
  if (question.ask === 'start') running = start()
  const sync = await running
  if (question.ask === 'put') await sync?.put(question.bookmark)
  const titles = [...(sync?.bookmarks().values() ?? [])].map(({ title }) => title)
  return { life, status: sync?.status() ?? null, titles, sockets }
}

function openWatched(url: string): WebSocket {
  const socket = new WebSocket(url)
  const heard: string[] = []
  sockets.push(heard)
  socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(data).type))
  return socket
}
