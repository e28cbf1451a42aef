import { OfflineError } from '../../errors.ts'
import { abortable, type Clock } from '../../timing/clock.ts'
import type { CallOptions, Transport } from './transport.ts'

/** Long enough for a page of 8 MiB over a slow connection, including a busy service's delays. */
const patienceMs = 120_000
/** Without a reason, each `abort` would create an error with a stack trace. */
const answered = 'answered'

/** The same parts, with calls that end: without a response in time, they reject with OfflineError. */
export function withDeadlines<Parts extends { transport: Transport; clock: Clock }>(parts: Parts): Parts {
  const { transport, clock } = parts
  async function limited<T>({ signal }: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const over = new AbortController()
    const limit = AbortSignal.any([signal, over.signal])
    clock.sleep(patienceMs, limit).then(
      () => over.abort(new OfflineError('The service did not respond in time')),
      () => {},
    )
    try {
      // Node's `fetch` may miss the signal, once memory was cleaned up.
      return await abortable(call({ signal: limit }), limit)
    } finally {
      over.abort(answered)
    }
  }

  const limits: Transport = {
    getUserId: (options) => limited(options, (limits) => transport.getUserId(limits)),
    getStatus: (options) => limited(options, (limits) => transport.getStatus(limits)),
    pull: (body, options) => limited(options, (limits) => transport.pull(body, limits)),
    push: (body, options) => limited(options, (limits) => transport.push(body, limits)),
    getKeyring: (options) => limited(options, (limits) => transport.getKeyring(limits)),
    settleConflict: (id, options) => limited(options, (limits) => transport.settleConflict(id, limits)),
    logout: (options) => limited(options, (limits) => transport.logout(limits)),
    openSocket: (query) => transport.openSocket(query),
  }
  return { ...parts, transport: limits }
}
