import { until } from '../../../support/until.ts'
import { exactly, inAnyOrder, link, scenario, type World } from '../scenario.ts'

const crowd = Array.from({ length: 300 }, (_, index) => `c${index}`)

/** Interrupts while the browser of `two` applies what `one` has added. */
async function inTheMiddle({ one, two }: World, interrupt: () => Promise<unknown>): Promise<void> {
  await one.addMany(crowd)
  await until(async () => (await two.titles()).length > 20)
  await interrupt()
}

export const interrupted = [
  scenario('changes made while the worker is stopped are synced', async ({ one, two }) => {
    await one.browser.stopWorker()
    await two.add('meanwhile')
    await one.add('wakes it')
    return inAnyOrder('meanwhile', 'wakes it')
  }),
  scenario('the worker dies at each call of a sync in turn', async ({ one, two, same }) => {
    const titles = new Set<string>()
    const expected = () => inAnyOrder(...titles)
    let call = 1
    for (let hasDied = true; hasDied; call++) {
      await two.browser.dieAt(call)
      for (const [user, title] of [
        [one, `theirs ${call}`],
        [two, `own ${call}`],
      ] as const) {
        await user.add(title, { index: 0 })
        titles.add(title)
      }
      await one.retitle(`theirs ${call}`, `changed ${call}`)
      titles.delete(`theirs ${call}`)
      titles.add(`changed ${call} ${link(`theirs ${call}`)}`)
      if (call > 2) {
        await one.move(`own ${call - 1}`, { index: 0 })
        await two.move(`changed ${call - 1}`, { index: 0 })
      }
      // More deletes in a minute would need an approval.
      if (call % 10 === 0) {
        await one.remove(`changed ${call - 2}`)
        titles.delete(`changed ${call - 2} ${link(`theirs ${call - 2}`)}`)
      }
      hasDied = false
      const done = same(expected()).then(() => true)
      while (!hasDied && !(await Promise.race([done, two.browser.page.waitForTimeout(100)]))) {
        hasDied = await two.browser.hasDied()
      }
      await two.browser.live()
      await done
    }
    if (call < 20) throw new Error(`A sync has only ${call} calls`)
    return expected()
  }),
  scenario('the browser is closed during a sync, and opened again', async (world) => {
    await inTheMiddle(world, () => world.two.browser.closeAndOpen(() => world.one.remove('c299')))
    return exactly(...crowd.slice(0, -1))
  }),
  scenario('the browser is closed during a sync, and opened with a newer extension', async (world) => {
    await inTheMiddle(world, () => world.two.browser.update('2.1.1'))
    return exactly(...crowd)
  }),
  scenario('the browser crashes during a sync', async (world) => {
    await inTheMiddle(world, () => world.two.browser.crash(() => world.one.remove('c0')))
    return exactly(...crowd.slice(1))
  }),
  scenario('the browser crashes after a sync', async ({ one, two, same }) => {
    await one.add('old')
    await same(exactly('old'))
    // Chromium saves its bookmarks only from time to time.
    await two.browser.page.waitForTimeout(5000)
    await one.add('new')
    await one.retitle('old', 'changed')
    await same(exactly(`changed ${link('old')}`, 'new'))
    await two.browser.crash()
    return exactly(`changed ${link('old')}`, 'new')
  }),
  scenario('a laptop sleeps during changes and a restart of the service', async ({ one, two, same, restart }) => {
    await one.add('before')
    await same(exactly('before'))
    two.browser.chromium.signal('SIGSTOP')
    await one.add('meanwhile')
    await restart()
    await one.retitle('before', 'changed')
    two.browser.chromium.signal('SIGCONT')
    await two.add('awake')
    return inAnyOrder(`changed ${link('before')}`, 'meanwhile', 'awake')
  }),
  scenario('an import of the browser is synced once it is complete', async ({ one, two, same }) => {
    await one.browser.dispatchImport('onImportBegan')
    await one.addFolder('Imported')
    await one.addMany(crowd, { into: 'Imported' })
    await two.add('meanwhile')
    await until(async () => (await one.browser.ask({ ask: 'state' })).state?.browser?.state === 'waiting')
    await one.browser.dispatchImport('onImportEnded')
    await same(inAnyOrder('Imported/', ...crowd.map((title) => `  ${title}`), 'meanwhile'))
    return inAnyOrder('Imported/', ...crowd.map((title) => `  ${title}`), 'meanwhile')
  }),
]
