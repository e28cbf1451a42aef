import { QuotaExceeded } from '../../../generated/errors.ts'
import type { SendRequest } from '../../../src/client/api/retry.ts'
import type { EntityType } from '../../../src/client/bookmark.ts'
import { keyOfChange } from '../../../src/client/sync/store/key.ts'
import { abortable } from '../../../src/client/timing/clock.ts'
import type { TestApp } from '../../support/app.ts'
import { type CookieJar, cookieOf, setCookies } from '../connection.ts'
import { counted, type World } from '../sync/clock.ts'
import { TestSocket } from '../sync/network.ts'
import type { Dice } from './dice.ts'

/** The fates of a request. `held`: it continues when the run releases it. */
type Fate = 'arrives' | 'cut' | 'lost' | 'doubled' | 'truncated' | 'busy' | 'portal' | 'slow' | 'held'

/** The weight of each fate. */
const weathers = {
  good: { arrives: 1 },
  fair: { arrives: 60, slow: 3, held: 5, lost: 5, doubled: 4, truncated: 3, cut: 3, busy: 2, portal: 1 },
  bad: { arrives: 20, slow: 6, held: 8, lost: 16, doubled: 8, truncated: 8, cut: 10, busy: 6, portal: 4 },
  dead: { cut: 1 },
  /** Everything works, but the keyring is late. */
  keyless: { arrives: 1 },
} as const satisfies Record<string, Partial<Record<Fate, number>>>

export type Weather = keyof typeof weathers

/** A browser's connection: its cookies, and the fates of its requests. */
export interface Line {
  app: TestApp
  world: World
  dice: Dice
  cookies: CookieJar
  weather: Weather
  /** The service refuses every write that needs room. */
  isOverQuota: boolean
  /** Keys of records, from `keyOfChange`, whose changes the service refuses. */
  readonly refused: Set<string>
  /** The device has an earlier client version: its pushes overwrite changes that it has not seen. */
  readonly isOlder: boolean
  /** The service's epoch, which is new after each restore. */
  epoch(): string
  /** Called with the body of each push before its fate is decided. */
  onSend(body: PushBody): void
  /** Called with the body of each push that the service has accepted. */
  onPush(body: PushBody, answer: PushAnswer): void
}

export interface PushAnswer {
  conflicts: { event_id: string; reason: string }[]
}

export interface PushBody {
  changes: {
    id: string
    entity_id: string
    entity_type: EntityType
    device_id: string
    operation: string
    timestamp: number
    base: number
    if_unseen?: string
    encrypted_data?: string
    data_hash?: string
  }[]
}

interface Answer {
  status: number
  headers: Record<string, string>
  text: string
}

const page = { status: 200, headers: { 'content-type': 'text/html' }, text: '<html>Welcome to our hotel</html>' }

/** A tab's connection to the service in this process, as the platform's `fetch` and WebSocket. */
export class Wire {
  readonly sockets: TestSocket[] = []
  readonly #line: Line
  #held: (() => void)[] = []
  #isDead = false
  /** The number of slow requests that have yet to arrive. They do so even after the tab is closed. */
  late = 0
  /** Keeps requests from garbage collection, after which they would no longer receive `abort`. */
  readonly #underWay = new Set<Request>()

  constructor(line: Line) {
    this.#line = line
  }

  readonly fetch: SendRequest = async (request) => {
    const { dice, weather, cookies, isOlder, onSend } = this.#line
    // The browser adds the cookies when it sends the request, no matter when it arrives.
    request.headers.set('cookie', cookieOf(cookies))
    let body = request.body ? await counted(() => request.text()) : undefined
    if (request.url.endsWith('/sync/push')) {
      const push: PushBody = JSON.parse(body ?? '')
      if (isOlder) for (const change of push.changes) delete change.if_unseen
      body = JSON.stringify(push)
      onSend(push)
    }
    const isLate = weather === 'keyless' && request.url.endsWith('/account/keyring')
    const fate = isLate ? 'held' : dice.draw<Fate>({ ...noFate, ...weathers[weather] })
    if (this.#isDead) return never()
    this.#underWay.add(request)
    const answer = abortable(this.#meet(fate, request, body), request.signal)
    await Promise.allSettled([answer])
    this.#underWay.delete(request)
    if (this.#isDead) return never()
    const { status, headers, text } = await answer
    return new Response(status === 204 ? null : text, { status, headers })
  }

  readonly openSocket = (url: string): TestSocket => {
    const { dice, world, weather } = this.#line
    const socket = new TestSocket(Number(new URL(url).searchParams.get('since')), this.#line.epoch)
    this.sockets.push(socket)
    const isServed = weather !== 'good' && weather !== 'dead' && dice.happens(0.9)
    queueMicrotask(() => {
      if (isServed) socket.greet(world.time)
      else if (weather === 'good' || dice.happens(0.7)) socket.close()
    })
    return socket
  }

  get socket(): TestSocket | undefined {
    return this.sockets.at(-1)
  }

  release(): void {
    for (const goOn of this.#held.splice(0)) goOn()
  }

  /** Like a closed tab: no request gets a response any more. */
  kill(): void {
    this.#isDead = true
    for (const socket of this.sockets) socket.close()
  }

  async #meet(fate: Fate, request: Request, body: string | undefined): Promise<Answer> {
    const { dice, world } = this.#line
    const { signal } = request
    if (fate === 'cut') throw new TypeError('fetch failed')
    if (fate === 'busy') return { ...page, status: dice.pick([400, 401, 404, 413, 502, 503, 504]) }
    if (fate === 'portal') return { ...page, status: dice.pick([200, 200, 403, 511]) }
    if (fate === 'held') await new Promise<void>((resolve) => this.#held.push(resolve))
    if (fate === 'slow') {
      this.late++
      const arrival = world.clock().sleep(dice.between(1, 150) * 1000, signal)
      await arrival.finally(() => this.late--)
    }
    const answer = this.#refusal(request, body) ?? (await this.#arrive(request, body))
    if (fate === 'slow') await world.clock().sleep(dice.between(1, 60) * 1000, signal)
    // A change that the service has accepted once is not refused when it comes again.
    if (fate === 'doubled') return answer.status < 400 ? this.#arrive(request, body) : answer
    if (fate === 'lost') throw new TypeError('terminated')
    if (fate === 'truncated') return { ...answer, text: answer.text.slice(0, dice.below(answer.text.length)) }
    // Nobody takes the response of an aborted request or a closed tab: the cookies stay as they are.
    const lines = [(answer.headers as Record<string, unknown>)['set-cookie'] ?? []].flat() as string[]
    if (!signal.aborted && !this.#isDead) setCookies(this.#line.cookies, lines)
    return answer
  }

  /** The service's response to a push that it refuses. */
  #refusal({ url }: Request, body: string | undefined): Answer | undefined {
    const { isOverQuota, refused } = this.#line
    if (!url.endsWith('/sync/push')) return undefined
    const { changes } = JSON.parse(body ?? '') as PushBody
    if (isOverQuota && changes.some(({ operation }) => operation !== 'delete')) {
      const [status, error] = QuotaExceeded
      return { status, headers: { ...json, 'x-error-code': 'QuotaExceeded' }, text: JSON.stringify({ error }) }
    }
    if (!changes.some((change) => refused.has(keyOfChange(change)))) return undefined
    return { status: 400, headers: { ...json, 'x-error-code': 'BadRequest' }, text: '{"error":"Validation failed"}' }
  }

  async #arrive(request: Request, body: string | undefined): Promise<Answer> {
    const { app, onPush } = this.#line
    const { pathname } = new URL(request.url)
    const headers = Object.fromEntries(request.headers)
    const response = await counted(async () =>
      app.app.inject({ method: request.method as 'GET', url: pathname, headers, ...(body && { payload: body }) }),
    )
    if (pathname.endsWith('/sync/push') && response.statusCode === 200) onPush(JSON.parse(body ?? ''), response.json())
    const kept = Object.fromEntries(Object.entries(response.headers).filter(([name]) => name !== 'content-length'))
    return { status: response.statusCode, headers: kept as Record<string, string>, text: response.payload }
  }
}

const json = { 'content-type': 'application/json' }
const noFate = { arrives: 0, cut: 0, lost: 0, doubled: 0, truncated: 0, busy: 0, portal: 0, slow: 0, held: 0 }

function never<T>(): Promise<T> {
  return new Promise(() => {})
}
