import { setTimeout as sleep } from 'node:timers/promises'
import { other, toolbar } from '../lines.ts'
import { count, has, hasNot } from '../matchers.ts'
import { link, scenario } from '../scenario.ts'

export const background = [
  scenario('the background page is stopped, again and again while 300 bookmarks come', async ({ one, two, same }) => {
    await one.stopBackground()
    await two.add(toolbar, 'while-stopped')
    await one.add(toolbar, 'wakes-it')
    await same(has('while-stopped', 'wakes-it'))
    const folder = await one.add(other, 'crowd', {})
    for (let index = 0; index < 300; index++) await one.add(folder, `c${index}`)
    for (let stop = 0; stop < 5; stop++) {
      await sleep(150)
      await two.stopBackground()
      await two.ask({ ask: 'state' })
    }
    await same((lines) => count(/^ +c\d+ /)(lines) === 300)
  }),
  scenario('300 are deleted: both ask, and their users agree', async ({ one, two, same }) => {
    await one.call('removeTree', await one.find('crowd'))
    await one.press('Delete them everywhere')
    await two.press('Delete them everywhere')
    await same(hasNot('crowd/'))
  }),
  scenario(
    'nothing happens for a while: the background page runs on, and only hears the pings; what comes then is live',
    async ({ one, elsewhere, same }) => {
      // What was done last may still be written down.
      await sleep(30_000)
      const before = await one.wakes()
      await one.page.goto('about:blank')
      // Longer than Firefox lets a background page idle; nothing but waiting shows it.
      await sleep(45_000)
      if ((await one.backgroundState()) !== 'running') throw new Error('It was stopped')
      await one.open()
      const after = await one.wakes()
      const [timers, requests] = [after.timers - before.timers, after.requests - before.requests]
      const messages = after.messages.slice(before.messages.length)
      const isIdle = requests === 0 && timers === 0 && messages.every((type) => type === 'ping')
      if (!isIdle || messages.length < 2)
        throw new Error(`It did something: ${timers} timers, ${requests} requests, and heard ${messages}`)
      await elsewhere.put({ id: 'live', title: 'live', url: link('live'), source: 'bookmarks' })
      await elsewhere.syncNow()
      await same(has('live'))
    },
  ),
]
