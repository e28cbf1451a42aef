import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'undici'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import type { OperationId } from '../../generated/operations.ts'
import { type Call, callOf } from '../contract/call.ts'
import { type Contract, operationsOf } from '../contract/openapi.ts'
import { Browser } from '../demo/sign-in.ts'
import { signInAt } from '../servers/sign-in.ts'

const contract = openapi as unknown as Contract
const examples = new Map(operationsOf(contract).map((one) => [one.operationId, callOf(contract, one)]))
const exampleId = /0199f6a0-1c00-7000-8000-\d{12}/g

/** The parts of a call that differ from the contract's example. */
type Change = Partial<Pick<Call, 'pathParameters' | 'query' | 'headers' | 'body'>>

type Prepare = (caller: Caller) => Promise<Change> | Promise<void>

/** Runs before each explained call of an operation. Returns what differs from the contract's example. */
const before: Partial<Record<OperationId, Prepare>> = {
  completeLogin: async (caller) => ({ query: Object.fromEntries((await caller.callback()).searchParams) }),
  logout: (caller) => caller.signIn(),
  getBookmark: bookmark,
  updateBookmark: bookmark,
  deleteBookmark: bookmark,
  listVersions: updated,
  // The version in the contract's example does not exist. Without one, the previous version is restored.
  restoreBookmark: async (caller) => ({ ...(await updated(caller)), body: {} }),
  purgeBookmark: deleted,
  listTrash: deleted,
  settleConflict: conflict,
  listConflicts: conflict,
  createExport: async (caller) => {
    await caller.call('deleteExport', await exported(caller))
  },
  listExports: exported,
  downloadExport: exported,
  deleteExport: exported,
  getKeyring: async (caller) => {
    await caller.call('setKeyring', nextKeyring(caller))
  },
  setKeyring: async (caller) => nextKeyring(caller),
  listKeyringVersions: async (caller) => void (await replacedKeyring(caller)),
  eraseKeyringVersions: async (caller) => void (await replacedKeyring(caller)),
  restoreKeyring: async (caller) => {
    const id = await replacedKeyring(caller)
    // The service stores the restored keyring as another revision.
    caller.keyrings++
    return { pathParameters: { id } }
  },
  getPairing: async (caller) => void (await caller.call('sendToPairing')),
  endPairing: async (caller) => void (await caller.call('sendToPairing')),
  reservePairing: async (caller) => {
    await caller.call('sendToPairing')
    return { body: { user_id: caller.userId } }
  },
  endSession: async (caller) => {
    await otherSession(caller)
    const { sessions } = (await caller.call('listSessions')) as { sessions: { id: string; current: boolean }[] }
    return { pathParameters: { id: sessions.find(({ current }) => !current)?.id } }
  },
  endOtherSessions: otherSession,
  renameDevice: newDevice,
  forgetDevice: newDevice,
  openRealtime: async ({ userId }) => {
    const { 'x-device-id': device } = exampleOf('openRealtime').headers
    return { headers: { 'x-device-id': device, 'x-user-id': userId } }
  },
  deleteAccount: (caller) => caller.signIn(randomUUID()),
}

/** Stores a bookmark. Its content differs from the contract's examples, so a call with such an example changes it. */
async function bookmark(caller: Caller): Promise<Change & { pathParameters: { id: string } }> {
  const body = { encrypted_data: 'YmVmb3Jl', data_hash: 'of what it was before' }
  const { id } = (await caller.call('createBookmark', { body })) as { id: string }
  return { pathParameters: { id } }
}

async function updated(caller: Caller): Promise<Change> {
  const its = await bookmark(caller)
  await caller.call('updateBookmark', its)
  return its
}

async function deleted(caller: Caller): Promise<Change> {
  const its = await bookmark(caller)
  await caller.call('deleteBookmark', its)
  return its
}

/** Makes a conflict: pushes another device's change, which is older than the bookmark. */
async function conflict(caller: Caller): Promise<Change> {
  const { pathParameters } = await bookmark(caller)
  const { changes } = exampleOf('pushChanges').body as { changes: object[] }
  const other = { id: randomUUID(), entity_id: pathParameters.id, device_id: 'phone' }
  await caller.call('pushChanges', {
    headers: { 'x-device-id': 'phone' },
    body: { changes: [{ ...changes[0], ...other }] },
  })
  const { conflicts } = (await caller.call('listConflicts')) as { conflicts: { version_id: string }[] }
  return { pathParameters: { id: conflicts[0]?.version_id } }
}

function nextKeyring(caller: Caller): Change {
  return { body: { ...(exampleOf('setKeyring').body as object), revision: ++caller.keyrings } }
}

/** Returns the id of a replaced keyring. */
async function replacedKeyring(caller: Caller): Promise<string | undefined> {
  for (let count = 0; count < 2; count++) await caller.call('setKeyring', nextKeyring(caller))
  const { versions } = (await caller.call('listKeyringVersions')) as { versions: { id: string }[] }
  return versions[0]?.id
}

async function exported(caller: Caller): Promise<Change> {
  const { id } = (await caller.call('createExport')) as { id: string }
  for (;;) {
    const { exports } = (await caller.call('listExports')) as { exports: { id: string; status: string }[] }
    if (exports.find((one) => one.id === id)?.status === 'completed') return { pathParameters: { id } }
    await sleep(20)
  }
}

/** Pulls with a new device, so that the service knows it. */
async function newDevice(caller: Caller) {
  const id = randomUUID()
  await caller.call('pullChanges', { headers: { 'x-device-id': id } })
  return { pathParameters: { id } }
}

async function otherSession(caller: Caller): Promise<void> {
  await new Caller(caller.origin, caller.name).signIn()
}

/** A person with a browser. The device is that of the contract's examples. */
export class Caller {
  readonly origin: string
  name: string
  userId = ''
  /** How many keyrings the caller has stored. */
  keyrings = 0
  #browser = new Browser()

  constructor(origin: string, name: string) {
    this.origin = origin
    this.name = name
  }

  /** Signs in through the provider, in a browser without cookies. */
  async signIn(name = this.name): Promise<void> {
    this.name = name
    this.#browser = new Browser()
    await this.#browser.fetch(new Request(await this.callback()))
    const { user } = (await this.call('getSession')) as { user: { user_id: string } }
    this.userId = user.user_id
  }

  /** The address to which the provider redirects the person who has typed their name. */
  async callback(): Promise<URL> {
    const { authorizationUrl } = (await this.call('startLogin')) as { authorizationUrl: string }
    return new URL(await signInAt(authorizationUrl, this.name))
  }

  /** Prepares a call, which can be sent one time. Its body has new ids. */
  async prepare(operationId: OperationId, change?: Change): Promise<() => Promise<unknown>> {
    const { method, path, pathParameters, query, headers, body } = {
      ...exampleOf(operationId),
      ...(change ?? (await before[operationId]?.(this))),
    }
    const filled = path.replace('{id}', String(pathParameters.id))
    const url = `${this.origin}${filled}?${new URLSearchParams(query as Record<string, string>)}`
    if (operationId === 'openRealtime') return () => this.#openSocket(url, headers as Record<string, string>)
    const request = new Request(url, {
      method,
      headers: { ...(headers as object), ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: withNewIds(JSON.stringify(body)) }),
    })
    return async () => {
      const response = await this.#browser.fetch(request)
      const text = await response.text()
      if (response.status >= 400) throw new Error(`${operationId} was answered with ${response.status}: ${text}`)
      return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : undefined
    }
  }

  async call(operationId: OperationId, change: Change = {}): Promise<unknown> {
    return (await this.prepare(operationId, change))()
  }

  /** Opens a socket, waits for the first message, and closes the socket. */
  async #openSocket(url: string, headers: Record<string, string>): Promise<void> {
    const socket = new WebSocket(url, { headers: { ...headers, cookie: this.#browser.cookiesFor(url) } })
    await new Promise<void>((resolve, reject) => {
      socket.onmessage = () => resolve()
      socket.onerror = ({ message }) => reject(new Error(message))
    })
    socket.close()
  }
}

function exampleOf(operationId: OperationId): Call {
  return examples.get(operationId) as Call
}

function withNewIds(body: string): string {
  const ids = new Map<string, string>()
  return body.replaceAll(exampleId, (id) => {
    if (!ids.has(id)) ids.set(id, randomUUID())
    return ids.get(id) as string
  })
}
