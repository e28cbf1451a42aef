import { OfflineError } from '../../errors.ts'
import type { Clock } from '../../timing/clock.ts'
import type { CallOptions, Transport } from './transport.ts'

/** For a page of 8 MiB on a slow line, with the waits of a busy service. */
const patienceMs = 120_000
/** Without a reason of its own, each `abort` makes an error with a stack. */
const answered = 'answered'

/** No call waits for ever: what is not answered in time counts as not answered. */
export function withDeadlines(transport: Transport, clock: Clock): Transport {
  async function limited<T>({ signal }: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const late = new AbortController()
    const ended = new AbortController()
    clock.sleep(patienceMs, AbortSignal.any([signal, ended.signal])).then(
      () => late.abort(new OfflineError('The service did not answer in time')),
      () => {},
    )
    try {
      return await call({ signal: AbortSignal.any([signal, late.signal]) })
    } finally {
      ended.abort(answered)
    }
  }

  return {
    getUserId: (options) => limited(options, (limits) => transport.getUserId(limits)),
    pull: (body, options) => limited(options, (limits) => transport.pull(body, limits)),
    push: (body, options) => limited(options, (limits) => transport.push(body, limits)),
    logout: (options) => limited(options, (limits) => transport.logout(limits)),
    openSocket: (query) => transport.openSocket(query),
  }
}
