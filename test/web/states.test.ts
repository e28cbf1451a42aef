import type { Route } from 'playwright-core'
import t from 'tap'
import { deep } from '../support/depth.ts'
import { folder, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { faultsIn } from './docs-page.ts'
import {
  addBookmark,
  answerProvider,
  developmentProvider,
  enter,
  keepsPage,
  keptForOffline,
  live,
  openChromium,
  openContext,
  openVault,
  passphrase,
  show,
  startVault,
  withoutNetwork,
} from './fixture.ts'

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('the page reports each problem with advice, and stops once it is over', async (t) => {
    const settings = { SERVE_APP: 'true', MAX_USER_RECORDS: '3', ...(await developmentProvider()) }
    const { origin } = await startService(t, await folder(t), settings)
    const viewport = { width: 1440, height: 900 }
    const context = await openContext(t, browser, { ...keepsPage, viewport }, /status of (403|413|429|500|503)/)
    await context.addInitScript(() => {
      const { put } = IDBObjectStore.prototype
      IDBObjectStore.prototype.put = function (...args) {
        const fault = localStorage.getItem('fault')
        if (fault) throw new DOMException('No room', fault)
        return put.apply(this, args)
      }
    })
    const page = await context.newPage()
    await enter(page, origin, 'Ada')
    await page.getByLabel('New passphrase').fill(passphrase)
    await page.getByLabel('Repeat the passphrase').fill(`${passphrase}!`)
    await page.getByText('The passphrases do not match').waitFor()
    const code = await startVault(page)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save as a file' }).click()
    t.equal((await download).suggestedFilename(), 'recovery-code.txt')
    t.same(await faultsIn(page, 'recovery-code'), [])
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await live(page)
    await keptForOffline(page)

    await t.test('a browser that stores nothing gets an explanation, not a page that loads for ever', async (t) => {
      const context = await openContext(t, browser)
      await context.addInitScript(() => {
        const get = () => {
          throw new DOMException('Access is denied for this document.', 'SecurityError')
        }
        for (const name of ['localStorage', 'sessionStorage', 'indexedDB']) Object.defineProperty(window, name, { get })
      })
      const page = await context.newPage()
      await page.goto(origin)
      await page.getByRole('alert').getByText('This browser does not let this page store data').waitFor()
    })

    // The next tests show that only complete and genuine parts are kept.
    await deep(t, 'a tab that was open during an upgrade still loads the parts of its own version', async (t) => {
      const context = await openContext(t, browser, keepsPage)
      const tab = await context.newPage()
      // Any other page of the same origin will do.
      await tab.goto(`${origin}/api/v1/auth/session`)
      const part = '/demo/part-ABCDEFGH.js'
      await tab.evaluate(async (part) => {
        const file = (text: string) => new Response(text, { headers: { 'content-type': 'text/javascript' } })
        await caches.open('page-oldest')
        const older = await caches.open('page-older')
        await older.put(part, file('document.title = "loaded"'))
        await older.put('/', file('older'))
      }, part)
      await tab.goto(origin)
      await keptForOffline(tab)
      t.equal(await tab.evaluate((part) => import(part).then(() => document.title), part), 'loaded')
      t.equal((await tab.evaluate(() => caches.keys())).length, 2, 'only the latest of the earlier versions is kept')
      await withoutNetwork(tab, async () => {
        await tab.reload()
        await tab.locator('#page').getByRole('heading').first().waitFor()
      })
    })

    const title = 'the page is kept for offline although a file is refused at first or does not arrive'
    await t.test(`${title}, even while a tab is being opened`, async (t) => {
      const context = await openContext(t, browser, keepsPage, /status of 503/)
      const part = /\/demo\/trash-/
      let asked = 0
      await context.route(part, (route) => {
        asked++
        return route.abort()
      })
      const [first, second] = [await context.newPage(), await context.newPage()]
      await first.goto(origin)
      const hasWorker = () => first.evaluate(async () => !!(await navigator.serviceWorker.getRegistration()))
      await until(async () => asked > 0 && !(await hasWorker()))
      t.same(await first.evaluate(() => caches.keys()), [], 'an incomplete page is not kept')
      t.equal(asked, 3, 'the number of retries is limited')

      await context.unroute(part)
      asked = 0
      const isOpening = Promise.withResolvers<void>()
      const isKept = Promise.withResolvers<void>()
      await context.route(part, (route) => {
        asked++
        if (asked === 1) return route.abort()
        return asked === 2 ? route.fulfill({ status: 503, headers: { 'retry-after': '0' } }) : route.fallback()
      })
      await second.route(`${origin}/`, async (route) => {
        isOpening.resolve()
        await isKept.promise
        return route.fallback()
      })
      const opening = second.goto(origin)
      await isOpening.promise
      await first.evaluate(() => dispatchEvent(new Event('online')))
      await keptForOffline(first)
      t.equal(asked, 3)
      isKept.resolve()
      await opening
      await keptForOffline(second)
    })

    await t.test(
      "a proxy's or another build's answer for a file is not kept, nor run while the page is kept",
      async (t) => {
        const context = await openContext(t, browser, keepsPage)
        const html = { contentType: 'text/html', body: '<h1>Sign in to this network</h1>' }
        const script = { contentType: 'text/javascript; charset=utf-8', body: 'export {}' }
        const asked: string[] = []
        await context.route(/\/(demo\/(app|trash|style).*)?$/, (route) => {
          const url = route.request().url()
          if (!route.request().serviceWorker()) return route.fallback()
          const tries = asked.push(url) && asked.filter((it) => it === url).length
          return tries === 3 ? route.fallback() : route.fulfill(tries === 1 ? html : script)
        })
        const tab = await context.newPage()
        await tab.goto(origin)
        await keptForOffline(tab)
        t.equal(asked.length, 3 * 4)
        const kept = await tab.evaluate(async () => {
          const cache = await caches.open((await caches.keys())[0] as string)
          const texts = (await cache.keys()).map(
            async (key) => [key.url, await (await cache.match(key))?.text()] as const,
          )
          return Promise.all(texts)
        })
        for (const [url, text] of kept) t.equal(text, await (await fetch(url)).text(), url)

        await context.unrouteAll()
        await context.route(/\/demo\//, (route) => route.fulfill(html))
        await tab.reload()
        await tab.locator('#page').getByRole('heading').first().waitFor()
      },
    )

    await deep(t, 'locking asks for the passphrase again, in all tabs', async (t) => {
      const tab = await context.newPage()
      await tab.goto(origin)
      await live(tab)
      await page.getByRole('button', { name: 'Ada, This browser' }).click()
      await page.getByRole('menuitem', { name: 'Lock' }).click()
      await tab.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
      await tab.close()
      await page.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
      t.same(await faultsIn(page, 'locked'), [])
      await openVault(page, code)
    })

    await t.test('without a network, the page opens, counts waiting edits, and retries', async (t) => {
      await withoutNetwork(page, async () => {
        await page.reload()
        await page.getByText('No internet connection').waitFor()
        await page.evaluate(() => {
          StorageManager.prototype.persist = async () => {
            document.title += ' (asked)'
            return false
          }
        })
        await addBookmark(page, 'Made offline')
        await page.waitForFunction(() => document.title.endsWith(' (asked)'))
        await page.getByText('One edit is saved in this browser').waitFor()
        await page.getByRole('button', { name: 'Try again' }).click()
        await page.getByText('Still no connection').waitFor()
        t.same(await faultsIn(page, 'offline'), [])
        await page.getByRole('button', { name: 'Details' }).click()
        const details = page.getByRole('textbox', { name: 'Details' })
        await page.waitForFunction(() => document.querySelector('textarea')?.value.includes('"exchanges"'))
        t.match(await details.inputValue(), /"reason": "network"[\s\S]*"why": "not-sent"/)
        t.notMatch(await details.inputValue(), /Made offline|http|example/)
        t.same(await faultsIn(page, 'details'), [])
        await context.grantPermissions(['clipboard-read', 'clipboard-write'])
        await page.getByRole('button', { name: 'Copy' }).click()
        await page.getByRole('button', { name: 'Copied' }).waitFor()
        await page.getByRole('button', { name: 'Close' }).click()
      })
      await live(page)
      await page.locator('#connection').waitFor({ state: 'detached' })
    })

    await t.test('a view whose file did not arrive is shown once there is a network', async () => {
      await page.evaluate(async () => {
        for (const name of await caches.keys()) {
          const cache = await caches.open(name)
          for (const file of await cache.keys()) if (/\/shortcuts-/.test(file.url)) await cache.delete(file)
        }
      })
      await withoutNetwork(page, async () => {
        await show(page, 'shortcuts')
        await page.getByRole('alert').getByText('This part of the page could not be loaded').waitFor()
      })
      await page.getByRole('heading', { name: 'Shortcuts' }).waitFor()
    })

    await t.test('a request that fails right after reconnecting is repeated', async () => {
      const asked = Promise.withResolvers<void>()
      const isLive = Promise.withResolvers<void>()
      await page.route('**/api/v1/sync/**', (route) => asked.promise.then(() => route.fallback()))
      const abort = async (route: Route) => {
        asked.resolve()
        await isLive.promise
        await route.abort()
      }
      await page.route('**/api/v1/trash', abort, { times: 1 })
      await page.evaluate(() => history.replaceState(null, '', '#/trash'))
      await page.reload()
      await live(page)
      isLive.resolve()
      await page.getByText('The trash is empty').waitFor()
      await page.unroute('**/api/v1/sync/**')
      await show(page, 'folder')
    })

    /** Takes the network away during the work. Afterwards the page asks the service again. */
    const reconnect = (meanwhile = async () => {}) =>
      withoutNetwork(page, async () => {
        await page.locator('#status[data-state=offline]').waitFor()
        await meanwhile()
      })
    const worksAgain = async () => {
      await context.unroute('**/api/v1/sync/**')
      await page.evaluate(() => dispatchEvent(new Event('online')))
      await live(page)
      await page.locator('#connection').waitFor({ state: 'detached' })
    }

    await t.test('an error of the service is shown with the request id until the service works again', async () => {
      const headers = { 'x-request-id': 'req-7', 'x-error-code': 'Internal' }
      const answer = { status: 500, headers, json: { error: 'Internal server error' } }
      await context.route('**/api/v1/sync/**', (route) => route.fulfill(answer))
      await reconnect()
      await page.getByText('The service has a problem (request req-7).').waitFor()
      await worksAgain()
    })

    await deep(t, 'a rate limit and a refused origin are not reported as a missing connection', async (t) => {
      const answers = [
        { status: 429, code: 'TooManyRequests', error: 'Too many requests', says: 'has received too many requests' },
        { status: 403, code: 'ForbiddenOrigin', error: 'Forbidden origin', says: `refuses pages from ${origin}` },
      ]
      for (const { status, code, error, says } of answers) {
        const answer = { status, headers: { 'x-error-code': code }, json: { error } }
        await context.route('**/api/v1/sync/**', (route) => route.fulfill(answer))
        await reconnect()
        await page.locator('#connection').getByText(says).waitFor()
        t.same(await faultsIn(page, `refused-${status}`), [])
        await worksAgain()
      }
      const headers = { 'x-error-code': 'Unavailable' }
      const problem = { status: 503, headers, json: { error: 'Service unavailable' } }
      await context.route('**/api/v1/auth/session', (route) => route.fulfill(problem))
      await page.reload()
      await page.getByRole('link', { name: 'Made offline' }).waitFor()
      await context.unroute('**/api/v1/auth/session')
      await live(page)
    })

    await t.test('failing and full storage are reported until they work again', async (t) => {
      await page.evaluate(() => localStorage.setItem('fault', 'UnknownError'))
      await page.reload()
      await page.locator('#connection').getByText('This browser’s storage is not working').waitFor()
      await page.evaluate(() => localStorage.setItem('fault', 'QuotaExceededError'))
      await page.reload()
      const notice = page.locator('#connection').getByText('This browser’s storage is full')
      await notice.waitFor()
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('Your storage is still full').waitFor()
      await page.getByRole('button', { name: 'Add bookmark' }).click()
      await page.getByRole('textbox', { name: 'Address' }).fill('https://example.org/full')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('dialog').getByText('so nothing was saved').waitFor()
      t.same(await faultsIn(page, 'full'), [])
      await page.keyboard.press('Escape')
      await page.evaluate(() => localStorage.removeItem('fault'))
      await page.evaluate(() => dispatchEvent(new Event('online')))
      await notice.waitFor({ state: 'detached' })
      await live(page)
      t.equal(await page.getByText('Your storage is still full').count(), 0)
    })

    // client/sync/store.test.ts loses connections, too.
    await deep(t, 'a database connection that is lost without an event is opened again', async () => {
      await page.evaluate(() => {
        const fresh = new WeakSet()
        const { transaction } = IDBDatabase.prototype
        const { open } = IDBFactory.prototype
        IDBFactory.prototype.open = function (...args) {
          const opening = open.apply(this, args)
          opening.addEventListener('success', () => fresh.add(opening.result))
          return opening
        }
        IDBDatabase.prototype.transaction = function (...args) {
          if (!fresh.has(this)) throw new DOMException('The database connection is closing.', 'InvalidStateError')
          return transaction.apply(this, args)
        }
      })
      const rename = async (before: string, after: string) => {
        await page.getByRole('button', { name: `Edit ${before}` }).click()
        await page.getByRole('textbox', { name: 'Title' }).fill(after)
        await page.getByRole('button', { name: 'Save', exact: true }).click()
        await page.getByRole('link', { name: after, exact: true }).waitFor()
        await live(page)
      }
      await rename('Made offline', 'Made again')
      await page.reload()
      await rename('Made again', 'Made offline')
    })

    await deep(t, 'a frozen tab with an older store is reported, and the page works once it is closed', async (t) => {
      const frozen = await context.newPage()
      await frozen.goto(`${origin}/api/v1/auth/session`)
      await page.goto('about:blank')
      await frozen.evaluate(async () => {
        const done = (request: IDBRequest) => new Promise((resolve) => request.addEventListener('success', resolve))
        for (const { name = '' } of await indexedDB.databases()) {
          if (name.endsWith('-keys')) continue
          await done(indexedDB.deleteDatabase(name))
          const opening = indexedDB.open(name, 1)
          opening.onupgradeneeded = () => {
            for (const store of ['rows', 'meta']) opening.result.createObjectStore(store)
          }
          await done(opening)
        }
      })
      await page.goto(origin)
      await page.getByRole('heading', { name: 'Another tab is blocking this one' }).waitFor()
      t.same(await faultsIn(page, 'blocked'), [])
      await frozen.close()
      await page.getByRole('link', { name: 'Made offline' }).waitFor()
      await live(page)
    })

    await deep(t, 'a wrong clock is reported until it is right, and all stored times are right', async (t) => {
      const tab = await context.newPage()
      await tab.addInitScript(() => {
        const { now } = Date
        const ahead = 3 * 86_400_000
        Date.now = () => now() + (document.title === 'right' ? 0 : ahead)
      })
      await tab.goto(origin)
      await tab.getByText('This device’s clock is 3 days ahead').waitFor()
      await tab.getByRole('button', { name: 'Delete Made offline' }).click()
      await tab.getByRole('link', { name: 'Made offline' }).waitFor({ state: 'detached' })
      await live(tab)
      await show(tab, 'trash')
      await tab.getByText(/Deleted (a moment|\d+ minutes?) ago, erased for good in 30 days/).waitFor()
      t.same(await faultsIn(tab, 'clock'), [])
      await tab.getByRole('button', { name: 'Restore Made offline' }).click()
      await tab.getByRole('heading', { name: 'The trash is empty' }).waitFor()
      // Pressed at once, because the next answer of the service would remove the notice.
      const again = await tab.getByRole('button', { name: 'Check again' }).elementHandle()
      await again?.evaluate((button: HTMLElement) => {
        document.title = 'right'
        button.click()
      })
      await tab.locator('#clock').waitFor({ state: 'detached' })
      t.not(await tab.evaluate(() => document.activeElement?.tagName), 'BODY', 'the focus has a place')
      await tab.close()
    })

    await t.test('edits that exceed the quota can be retried or discarded, which can be undone', async (t) => {
      for (const title of ['Two', 'Three', 'Four']) await addBookmark(page, title)
      const notice = page.getByRole('region', { name: 'Your storage on the service is full' })
      await notice.getByText('“Four”').waitFor()
      t.same(await faultsIn(page, 'quota'), [])
      await notice.getByRole('button', { name: 'Discard the edit' }).click()
      await notice.waitFor({ state: 'detached' })
      t.not(await page.evaluate(() => document.activeElement?.tagName), 'BODY', 'the focus has a place')
      await page.getByRole('link', { name: 'Four' }).waitFor({ state: 'detached' })
      await page.locator('.toast', { hasText: 'The edit was discarded' }).getByRole('button', { name: 'Undo' }).click()
      await notice.waitFor()
    })

    await t.test('a session that ends elsewhere does not lose what is being typed', async (t) => {
      await page.getByRole('button', { name: 'Edit Two' }).click()
      await page.getByRole('textbox', { name: 'Title' }).fill('Two, edited')
      await reconnect(() => context.clearCookies())
      await page.getByText('Your sign-in has ended').waitFor()
      await page.getByText('One edit that was not sent yet is kept in this browser.').waitFor()
      await page.getByText('The open dialog was closed').waitFor()
      await page.getByText('Your entries are kept in this tab').waitFor()
      t.same(await faultsIn(page, 'signed-out'), [])
      await page.getByRole('button', { name: 'Sign in' }).click()
      await answerProvider(page, 'Ada')
      const form = page.getByRole('dialog', { name: 'Edit Two' })
      t.equal(await form.getByLabel('Title').inputValue(), 'Two, edited')
      await form.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('link', { name: 'Two, edited' }).waitFor()
      await reconnect(() => context.clearCookies())
      await page.getByText('Your sign-in has ended').waitFor()
      await show(page, `add/${encodeURIComponent(JSON.stringify(['Not to be lost', 'https://example.org/found']))}`)
      await page.reload()
      const asked: (string | null)[] = []
      page.on('request', (request) => asked.push(request.url(), request.postData()))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await answerProvider(page, 'Ada')
      const dialog = page.getByRole('dialog', { name: 'New bookmark' })
      t.equal(await dialog.getByLabel('Title').inputValue(), 'Not to be lost')
      t.notMatch(asked.join('\n'), 'found', 'the service does not get the draft')
      const state = `&state=${encodeURIComponent(`${origin}/`)}&`
      t.match(asked.join('\n'), state, 'the state has the origin, because some providers refuse less than 8 characters')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('link', { name: 'Two, edited' }).waitFor()
    })

    await t.test('once another tab has a newer version of the store, this tab asks to be reloaded', async (t) => {
      const tab = await context.newPage()
      await tab.goto(`${origin}/api/v1/auth/session`)
      await tab.evaluate(async () => {
        // A version higher than any that this page knows.
        for (const { name = '' } of await indexedDB.databases()) {
          if (!name.endsWith('-keys')) indexedDB.open(name, 100)
        }
      })
      await page.getByText('A newer version of this page is open in another tab').waitFor()
      await page.getByText('Reload needed').first().waitFor()
      await page.getByRole('button', { name: 'Edit Two' }).click()
      await page.getByRole('textbox', { name: 'Title' }).fill('Too late')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('This tab is out of date, so nothing was saved.').waitFor()
      t.same(await faultsIn(page, 'outdated'), [])
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Reload the page' }).click()
      await page.getByRole('heading', { name: 'This tab is out of date' }).waitFor()
      t.same(await faultsIn(page, 'out-of-date'), [])
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('dialog').getByText('cannot tell whether there are unsent edits').waitFor()
      await page.getByRole('button', { name: 'Sign out and lose them' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
    })
  })
}
