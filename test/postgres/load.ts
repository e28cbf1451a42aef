import { setTimeout as sleep } from 'node:timers/promises'
import type { TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'

/** Leaves the machine time for what the load is to meet. */
const pauseMs = 20

export interface Load {
  /** The entities of each push, once it is acknowledged. */
  acknowledged: string[][]
  /** Ends it; resolves when every push that was begun is acknowledged. */
  stop(): Promise<void>
}

/** Devices that push, one to four changes at a time. */
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

/** What a client asks for again and again. */
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
