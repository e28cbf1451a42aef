import { ForbiddenUser, QuotaExceeded } from '../../../generated/errors.ts'
import { ApiError, OfflineError, SignedOutError } from '../../../src/client/errors.ts'
import type { Change, PullResponse, RealtimeSocket, Transport } from '../../../src/client/sync/exchange/transport.ts'
import { abortable } from '../../../src/client/timing/clock.ts'
import type { TestUser } from '../../support/app.ts'
import { counted } from './clock.ts'

/** A call on its way. `send` passes it to the service, with the body at that moment, and returns the answer. */
export interface Call {
  name: 'getStatus' | 'pull' | 'push' | 'getKeyring' | 'settleConflict' | 'logout'
  body: unknown
  send(): Promise<unknown>
}

type PushBody = Parameters<Transport['push']>[0]

/** The changes of a push; none for other calls. */
export function changesOf({ name, body }: Call): Change[] {
  return name === 'push' ? (body as PushBody).changes : []
}

/** Decides what happens to a call, and returns its answer. */
export type Fate = (call: Call) => Promise<unknown>

export const up: Fate = ({ send }) => send()
export const failing =
  (error: Error): Fate =>
  () =>
    Promise.reject(error)
export const down: Fate = () => Promise.reject(new OfflineError())
export const hanging: Fate = () => new Promise(() => {})
export const answerLost: Fate = async ({ send }) => {
  await send()
  throw new OfflineError()
}

/** The device has an earlier version of the client, whose pushes overwrite changes that it has not seen. */
export const older: Fate = (call) => up(asOlder(call))

function asOlder(call: Call): Call {
  for (const change of changesOf(call)) delete change.if_unseen
  return call
}

/** The service refuses all changes, and answers other calls. */
export const refused: Fate = async (call) => {
  if (changesOf(call).length > 0) throw new ApiError(...QuotaExceeded)
  return call.send()
}

/** A device's connection to the service in this process, with the faults that a test sets as `fate`. */
export class Network implements Transport {
  fate: Fate = up
  /** The names of all calls, in order. */
  readonly calls: Call['name'][] = []
  /** The changes of all pushes, as they left the device. */
  readonly sent: Change[] = []
  /** All pulled pages, as they reached the device. */
  readonly pages: PullResponse[] = []
  readonly sockets: TestSocket[] = []
  onSocket: (socket: TestSocket) => void = () => {}
  readonly #userId: string
  /** The user whose cookies the browser has. */
  #user: TestUser
  readonly #deviceId: string
  /** The epoch in the service's latest answer. */
  #epoch = ''

  constructor(user: TestUser, deviceId: string) {
    this.#userId = user.userId
    this.#user = user
    this.#deviceId = deviceId
  }

  getStatus: Transport['getStatus'] = (types, options) =>
    this.#call('getStatus', 'GET', `/api/v1/sync/status?entity_types=${types}`, undefined, options)
  pull: Transport['pull'] = async (body, options) => {
    const page = await this.#call('pull', 'POST', '/api/v1/sync/pull', body, options)
    this.pages.push(page)
    return page
  }
  push: Transport['push'] = (body, options) => this.#call('push', 'POST', '/api/v1/sync/push', body, options)
  getKeyring: Transport['getKeyring'] = async (options) => {
    return (await this.#call('getKeyring', 'GET', '/api/v1/account/keyring', undefined, options)).keyring
  }
  // Resolves with undefined, as the client does. The sync takes any other value for a failure.
  settleConflict: Transport['settleConflict'] = async (id, options) => {
    const path = `/api/v1/sync/conflicts/${encodeURIComponent(id)}`
    await this.#call('settleConflict', 'DELETE', path, undefined, options)
  }
  logout: Transport['logout'] = async (options) => {
    await this.#call('logout', 'POST', '/api/v1/auth/logout', undefined, options)
  }

  openSocket: Transport['openSocket'] = ({ since }) => {
    const socket = new TestSocket(since, () => this.#epoch)
    this.sockets.push(socket)
    this.onSocket(socket)
    return socket
  }

  /** Another user signs in, in the same browser. This device's app still belongs to its own user. */
  signIn(user: TestUser): void {
    this.#user = user
  }

  /** How many calls of this name there were. */
  count(name: Call['name']): number {
    return this.calls.filter((one) => one === name).length
  }

  /** Holds each call of this name, or its answer, until `release`. `reached` resolves at the first one. */
  hold(name: Call['name'], what: 'call' | 'answer' = 'call'): { reached: Promise<void>; release(): void } {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.fate = async (call) => {
      if (call.name !== name) return call.send()
      const answer = what === 'answer' ? [await call.send()] : []
      reached.resolve()
      await released.promise
      return answer.length > 0 ? answer[0] : call.send()
    }
    return { reached: reached.promise, release: released.resolve }
  }

  /** The socket opened last. */
  get socket(): TestSocket | undefined {
    return this.sockets.at(-1)
  }

  async #call(
    name: Call['name'],
    method: string,
    path: string,
    body: unknown,
    { signal }: { signal: AbortSignal },
    // biome-ignore lint/suspicious/noExplicitAny: the answer was checked against the contract
  ): Promise<any> {
    this.calls.push(name)
    const call: Call = { name, body: structuredClone(body), send: () => send() }
    this.sent.push(...changesOf(call))
    const send = async () => {
      const headers = { 'x-device-id': this.#deviceId, 'x-user-id': this.#userId }
      const request = call.body === undefined ? { headers } : { body: call.body, headers }
      const answer = await counted(() => this.#user.call(method, path, request))
      if (answer.status === 401 || answer.body?.error === ForbiddenUser[1])
        throw new SignedOutError(answer.status === 403)
      if (answer.status >= 400) throw new ApiError(answer.status, answer.body.error)
      this.#epoch = answer.body?.epoch ?? this.#epoch
      return answer.body
    }
    return abortable(this.fate(call), signal)
  }
}

/** A realtime channel whose server is the test. */
export class TestSocket extends EventTarget implements RealtimeSocket {
  /** The stamp up to which the service has sent changes. */
  cursor: number
  isOpen = true
  readonly sent: string[] = []

  readonly #epoch: () => string

  /** @param epoch the service's epoch at the time of its greeting */
  constructor(since: number, epoch: () => string) {
    super()
    this.cursor = since
    this.#epoch = epoch
  }

  send(data: string): void {
    this.sent.push(data)
  }

  close(code = 1000): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.dispatchEvent(new CloseEvent('close', { code }))
  }

  greet(timestamp: number, epoch = this.#epoch()): void {
    this.say({ type: 'connected', deviceId: '', timestamp, epoch })
  }

  say(message: object): void {
    if (this.isOpen) this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }))
  }
}
