import { until } from '../../../support/until.ts'
import { linesOf, menu, toolbar } from '../lines.ts'
import { count, has, hasNot } from '../matchers.ts'
import { scenario } from '../scenario.ts'

export const account = [
  scenario('paused, nothing happens; then all at once', async ({ one, two, same }) => {
    await one.press('Pause')
    await two.add(toolbar, 'during-the-pause')
    await one.add(menu, 'paused')
    await one.press('Go on')
    await same(has('during-the-pause', 'paused'))
  }),
  scenario('a folder stays out of one browser, and comes in again', async ({ one, two, same }) => {
    const work = await one.add(toolbar, 'Work', {})
    await one.add(work, 'shared')
    await same(has('shared'))
    await one.inTab('options', (page) => page.getByLabel('Work').check())
    await one.add(work, 'only-here')
    await two.add(toolbar, 'goes-on')
    await until(async () => (await one.find('goes-on').catch(() => '')) !== '')
    if (await two.find('only-here').catch(() => undefined)) throw new Error('What stays out has come')
    await one.inTab('options', (page) => page.getByLabel('Work').uncheck())
    await same((lines) => has('only-here')(lines) && count(/shared/)(lines) === 1)
  }),
  scenario(
    'signed out elsewhere: edits wait, and go on after the next sign-in',
    async ({ one, two, service, same }) => {
      await one.endSession(service())
      await one.add(toolbar, 'signed-out')
      await two.add(toolbar, 'meanwhile')
      await one.signInAgain('Ada')
      await same(has('signed-out', 'meanwhile'))
    },
  ),
  scenario(
    'on the page of settings, the device is renamed, and a deleted bookmark is put back',
    async ({ one, service, same }) => {
      await one.add(toolbar, 'deleted-by-mistake')
      await same(has('deleted-by-mistake'))
      await one.call('remove', await one.find('deleted-by-mistake'))
      await same(hasNot('deleted-by-mistake'))
      await one.inTab('options', async (page) => {
        await page.getByLabel('This device’s name').fill('Ada’s Fox')
        await page.getByRole('button', { name: 'Rename' }).click()
        await page.getByText('Saved').waitFor()
        await page.getByRole('button', { name: 'Show deleted bookmarks' }).click()
        await page.locator('[aria-label="Put back deleted-by-mistake"]').click()
        await same(has('deleted-by-mistake'))
      })
      const names = await one.page.evaluate(
        async (url) =>
          (await (await fetch(url, { credentials: 'include' })).json()).devices.map(({ id }: { id: string }) =>
            id.slice(0, 8),
          ),
        `${service().origin}/api/v1/account/devices`,
      )
      if (!names.includes('Adas-Fox')) throw new Error(`It is not renamed: ${names}`)
    },
  ),
  scenario('signed out and forgotten: the bookmarks stay in the browser', async ({ one }) => {
    const before = linesOf(await one.roots()).join()
    await one.inTab('options', async (page) => {
      await page.getByRole('button', { name: 'Sign out and forget' }).click()
      await page.getByText('Not set up yet').waitFor()
    })
    if (linesOf(await one.roots()).join() !== before) throw new Error('Bookmarks were deleted')
  }),
]
