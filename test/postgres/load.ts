import { setTimeout as sleep } from 'node:timers/promises'
import type { TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'

/** A pause between pushes, so that the load leaves the machine time for the tested event. */
const pauseMs = 20

export interface Load {
  /** The entity ids of each acknowledged push. */
  acknowledged: string[][]
  /** Ends the load. Resolves when all pushes that have begun are acknowledged. */
  stop(): Promise<void>
}

/** Starts devices that push one to four changes at a time. The user's `call` repeats a push until it is acknowledged. */
export function startLoad(user: TestUser, devices: number): Load {
  const acknowledged: string[][] = []
  let stopped = false
  async function push(device: string): Promise<void> {
    for (let count = 0; !stopped; count += 1) {
      const names = Array.from({ length: 1 + (count % 4) }, (_, index) => `${device}-${count}-${index}`)
      const changes = names.map((entity_id) => change({ entity_id, device_id: device }))
      const { status, body } = await user.call('POST', '/api/v1/sync/push', { body: { changes } })
      if (status !== 200 || body.accepted !== names.length) throw new Error(`${status} ${JSON.stringify(body)}`)
      acknowledged.push(names)
      await sleep(pauseMs)
    }
  }
  const pushing = Promise.all(Array.from({ length: devices }, (_, index) => push(`d${index}`)))
  return {
    acknowledged,
    async stop() {
      stopped = true
      await pushing
    },
  }
}

/** Sends these requests again and again, as a client does. */
export function startReading(
  { call }: Pick<TestUser, 'call'>,
  requests: Parameters<TestUser['call']>[],
): Pick<Load, 'stop'> {
  let stopped = false
  const reading = requests.map(async (request) => {
    while (!stopped) {
      await call(...request)
      await sleep(10)
    }
  })
  return {
    async stop() {
      stopped = true
      await Promise.all(reading)
    },
  }
}
