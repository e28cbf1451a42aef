import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { type Carrier, createNotices } from '../../src/service/notices/notices.ts'

t.test('A lost connection is not checked for life any more', async (t) => {
  const lines: { lose: () => void; checks: number }[] = []
  const carrier: Carrier = {
    async open(ears) {
      const { promise: lost, resolve: lose } = Promise.withResolvers<void>()
      const line = { lose, checks: 0 }
      lines.push(line)
      return {
        lost,
        send: async () => {},
        echo: async (nonce) => ears.echoed(nonce),
        follow: async () => {},
        unfollow() {},
        check: async () => void line.checks++,
        close: async () => {},
      }
    },
    atOnce: 1,
    remedy: '',
  }
  const notices = createNotices(pino({ level: 'silent' }), carrier)
  t.teardown(() => notices.close())
  while (lines.length === 0) await sleep(10)
  await sleep(10)
  lines[0]?.lose()
  // On a slow machine, a check may have run before the loss.
  const before = lines[0]?.checks
  // By the time the second connection is checked, the lost one would have been checked, too.
  while (!lines[1]?.checks) await sleep(50)
  t.equal(lines[0]?.checks, before)
})
