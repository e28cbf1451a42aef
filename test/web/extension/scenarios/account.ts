import { until } from '../../../support/until.ts'
import { passphrase } from '../../fixture.ts'
import { exactly, inAnyOrder } from '../same.ts'
import { scenario } from '../scenario.ts'
import { endSession, forget, setUp, signInAgain, unlockAgain } from '../set-up.ts'
import { link } from '../user.ts'

export const account = [
  scenario('paused, nothing happens; then all at once', async ({ one, two }) => {
    await one.browser.press('Pause')
    await two.add('during the pause')
    await one.add('paused')
    await one.browser.reads('Paused')
    if ((await one.titles()).length > 1) throw new Error('It is not paused')
    await one.browser.press('Go on')
    return inAnyOrder('during the pause', 'paused')
  }),
  scenario('paused, and the browser is closed and opened', async ({ one, two }) => {
    await one.browser.press('Pause')
    await one.add('paused')
    await one.browser.closeAndOpen()
    await one.browser.reads('Paused')
    await two.add('meanwhile')
    await one.browser.press('Go on')
    return inAnyOrder('meanwhile', 'paused')
  }),
  scenario('a folder stays out of one browser, and comes in again', async ({ one, two, folder, same }) => {
    await one.add('shared')
    await same(exactly('shared'))
    await one.browser.inTab('options', (page) => page.getByLabel(folder, { exact: true }).check())
    await until(async () => ((await one.browser.ask({ ask: 'state' })).state?.leftOut ?? []).length === 1)
    await one.add('only here')
    await two.add('only there')
    await two.retitle('shared', 'renamed')
    await one.browser.ask({ ask: 'sync-now' })
    if ((await one.titles()).join() !== 'shared,only here') throw new Error('It has not stayed out')
    if ((await two.titles()).join() !== 'renamed,only there') throw new Error('What stays out has come')
    await two.retitle('renamed', 'shared')
    await until(async () => (await two.browser.ask({ ask: 'state' })).state?.sync?.waiting === 0)
    await one.browser.inTab('options', (page) => page.getByLabel(folder, { exact: true }).uncheck())
    return inAnyOrder('shared', 'only here', 'only there')
  }),
  scenario('signed out elsewhere: edits wait, and go on after the next sign-in', async ({ one, two, service }) => {
    await endSession(one.browser, service())
    await one.add('signed out')
    await two.add('meanwhile')
    await one.browser.reads('You are signed out')
    await signInAgain(one.browser, 'Ada')
    return inAnyOrder('signed out', 'meanwhile')
  }),
  scenario('taken off the list of devices, it goes on', async ({ one, two, elsewhere }) => {
    if ((await elsewhere.forgetOthers()) < 2) throw new Error('The browsers are not on the list')
    await one.add('a')
    await two.add('b')
    return inAnyOrder('a', 'b')
  }),
  scenario('keys replaced elsewhere: each browser asks, and what waited is sent', async ({ one, two, elsewhere }) => {
    await elsewhere.replaceKeys()
    await one.add('old keys')
    await unlockAgain(one.browser)
    await two.add('older keys')
    await unlockAgain(two.browser)
    return inAnyOrder('old keys', 'older keys')
  }),
  scenario('the passphrase is changed elsewhere: nobody is asked', async ({ one, two, elsewhere }) => {
    await elsewhere.changePassphrase(passphrase, 'another passphrase')
    await one.add('a')
    await two.browser.stopWorker()
    await two.add('b')
    await elsewhere.changePassphrase('another passphrase', passphrase)
    return inAnyOrder('a', 'b')
  }),
  scenario('the space is used up: it is told, and sent once there is room', async ({ one, two, same, restart }) => {
    await one.add('before')
    await same(exactly('before'))
    await restart({ MAX_USER_RECORDS: '1' })
    await one.add('no room')
    await one.browser.reads(/your space is used up/)
    await two.retitle('before', 'changed')
    await restart()
    await one.browser.press('Try again')
    return exactly(`changed ${link('before')}`, 'no room')
  }),
  scenario('the operator restores a backup: what was made since comes again', async ({ one, two, same, operator }) => {
    await one.add('old')
    await same(exactly('old'))
    const backup = await operator.backUp()
    await one.add('new')
    await two.retitle('old', 'changed')
    await same(exactly(`changed ${link('old')}`, 'new'))
    await operator.restore(backup)
    return exactly(`changed ${link('old')}`, 'new')
  }),
  scenario('signed out and forgotten, the bookmarks stay; set up again, nothing is doubled', async (world) => {
    const { one, two, same, service } = world
    await one.addFolder('inner')
    await one.addMany(['a', 'b', 'b'], { into: 'inner' })
    await same(exactly('inner/', '  a', '  b', '  b'))
    await forget(one.browser)
    await one.add('forgotten', { into: 'inner' })
    await two.retitle('a', 'changed')
    await setUp(one.browser, service(), 'Ada')
    return inAnyOrder('inner/', `  changed ${link('a')}`, '  b', '  b', '  forgotten')
  }),
]
