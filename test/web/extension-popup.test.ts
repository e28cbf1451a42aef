/** The extension's pages in a browser without extensions, where the test plays the worker. */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { openExtensionPage } from '../../scripts/picture/extension-page.ts'
import { buildForTests } from '../../scripts/test/build.ts'
import type { Answer, Platform, Question } from '../../src/extension/app/platform.ts'
import { i18nOf, textsIn } from '../extension/texts.ts'
import { deep } from '../support/depth.ts'
import { overflow } from './docs-page.ts'
import { type Look, looks } from './extension/looks.ts'
import { openChromium, openContext } from './fixture.ts'

declare const chrome: { runtime: { sendMessage(question: Question): Promise<Answer> } }
declare const asked: Question[]
declare const calls: [string, RequestInit][]

const lookOf = (name: string): Look => looks.find(({ title }) => title === name) ?? { title: '' }
const offline = lookOf('offline')

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  await buildForTests('extension')
  const context = await openContext(t, browser, { viewport: { width: 640, height: 700 } })

  /** Opens the popup. Its worker responds with the latest `answers`. */
  const openPopup = async (answer: Answer) => {
    const page = await openExtensionPage(context, 'popup', answer, 'en')
    const answers = (next: Answer) =>
      page.evaluate((next) => {
        const questions: Question[] = []
        const sendMessage = async (question: Question) => {
          if (question.ask !== 'held') questions.push(question)
          return next
        }
        Object.assign(globalThis, { asked: questions })
        Object.assign(chrome.runtime, { sendMessage })
      }, next)
    return { page, answers }
  }

  t.test('The popup shows the state before its cards are loaded, with little code', async (t) => {
    const { page } = await openPopup(lookOf('many deletes'))
    await page.getByText('Deleted in this browser').waitFor()
    await page.route('**/popup-cards-*.js', () => {})
    const loaded: Promise<Buffer>[] = []
    page.on('response', (response) => {
      if (response.url().endsWith('.js')) loaded.push(response.body())
    })
    await page.reload()
    await page.getByRole('button', { name: 'Sync now' }).waitFor()
    t.equal(await page.locator('.card').count(), 0)
    const bytes = (await Promise.all(loaded)).reduce((sum, { length }) => sum + length, 0)
    t.ok(bytes < 9_000, `${bytes} bytes`)
  })

  t.test('When the popup is redrawn, the focus stays, and a press that has begun counts', async (t) => {
    const { title: _, ...answer } = lookOf('many deletes')
    const { page, answers } = await openPopup(answer)
    const button = page.getByRole('button', { name: 'Put them back' }).first()
    await button.focus()
    const waiting = (count: number): Answer => {
      const { state } = answer
      return { ...answer, ...(state?.sync && { state: { ...state, sync: { ...state.sync, waiting: count } } }) }
    }
    await answers(waiting(3))
    await page.getByText('Waiting to be sent').waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    t.equal(await focused(), 'Put them back')

    await button.hover()
    await page.mouse.down()
    await answers(waiting(4))
    await page.locator('dd', { hasText: /^4$/ }).waitFor()
    await page.mouse.up()
    t.match(await page.evaluate(() => asked), [{ ask: 'decide', side: 'browser', deletes: false }])

    const { browser = [], devices = [] } = answer.held ?? {}
    await answers({ ...waiting(5), held: { browser: browser.slice(1), devices } })
    await page.getByText('Deleted in this browser (5)').waitFor()
    t.equal(await focused(), 'Put them back', 'the focus stays if the question changes')
  })

  t.test('The question about deletes names all of them', async (t) => {
    const { page } = await openPopup(lookOf('many deletes'))
    t.notOk(await page.getByText('Shop').isVisible())
    await page.getByText('Show all').click()
    for (const { title } of lookOf('many deletes').held?.browser ?? []) {
      t.ok(await page.locator('li', { hasText: title }).isVisible(), title)
    }
  })

  t.test('Possible copies are shown with their number, and the user chooses', async (t) => {
    const look = lookOf('copies')
    const { page, answers } = await openPopup(look)
    await page.getByText('These look like copies of what your account has in another place (120)').waitFor()
    await page.getByText('Here: Recipes › Bread 0. In your account: Rezepte › Brot 0').first().waitFor()
    t.notOk(await page.getByText('Bread 99').isVisible())
    await page.getByText('Show all').click()
    t.ok(await page.getByText('Bread 99').isVisible())
    await answers(look)
    for (const name of ['Make them one', 'Keep both']) await page.getByRole('button', { name }).click()
    const ids = look.copies?.map(({ id }) => id)
    t.same(await page.evaluate(() => asked), [
      { ask: 'decide-copies', ids, areOne: true },
      { ask: 'decide-copies', ids, areOne: false },
    ])
  })

  deep(t, "Bookmarks in the browser's account are listed once it is in sync, and copied on a press", async (t) => {
    const { page, answers } = await openPopup(lookOf('not sent yet'))
    await page.evaluate(() => {
      const root = (id: string, syncing: boolean, children: object[]) =>
        Object.assign({ id, title: id, folderType: 'bookmarks-bar' }, { syncing, children })
      const own: object[] = []
      const children = ['a', 'b', 'c', 'd'].map((title) => ({ title, url: 'https://example.org/' }))
      const tree = [{ id: '0', title: '', children: [root('1', false, own), root('5', true, children)] }]
      const create = async (node: object) => own.push(node)
      Object.assign(chrome, {
        bookmarks: { getChildren: async () => tree[0]?.children, getTree: async () => structuredClone(tree), create },
      })
    })
    t.notOk(await page.getByRole('button', { name: 'Copy them' }).isVisible())
    await answers(lookOf('in step'))
    await page.getByText('stay out of this sync (4): a, b, c').waitFor()
    await page.getByRole('button', { name: 'Copy them' }).click()
    // While the worker still has something to send, the button is hidden.
    await answers(lookOf('not sent yet'))
    await page.getByRole('button', { name: 'Copy them' }).waitFor({ state: 'hidden' })
    await answers(lookOf('in step'))
    await page.getByText('In step').waitFor()
    t.notOk(await page.getByRole('button', { name: 'Copy them' }).isVisible())
  })

  t.test('Saved tab groups are listed, searched, opened, renamed, and deleted after a second press', async (t) => {
    const tab = { id: 'tab', title: 'Bread', url: 'https://bread.example/', canOpen: true }
    const file = { id: 'file', title: 'Notes', url: 'file:///notes', canOpen: false }
    const group = { color: 'red', isOpen: false, isScattered: false, isAlike: false }
    const many = Array.from({ length: 16 }, (_, nth) => ({ ...tab, id: `${nth}`, title: 'Many' }))
    const list = [
      { id: 'one', title: 'Recipes', ...group, tabs: [tab, file] },
      { id: 'many', title: 'Lots', ...group, isAlike: true, tabs: many },
      { id: 'two', title: 'Work', ...group, tabs: [], isOpen: true, differs: { opens: 1, closes: 2, changes: 3 } },
    ]
    const answer = { ...lookOf('in step'), groups: { list, refused: [], failed: [], isTooLarge: false } }
    const { page } = await openPopup(answer)
    await page.evaluate((answer) => {
      const questions: Question[] = []
      const sendMessage = async (question: Question) => {
        if (question.ask !== 'held') questions.push(question)
        const act = 'act' in question ? question.act : undefined
        const isTooLarge = act?.do === 'open' && act.id === 'many' && act.most < 16
        return { ...answer, groups: { ...answer.groups, isTooLarge } }
      }
      Object.assign(globalThis, { asked: questions })
      Object.assign(chrome.runtime, { sendMessage, getBrowserInfo() {} })
    }, answer)
    await page.getByText('Tab groups').click()
    await page.getByText('Update would open 1, close 2 and change 3').waitFor()
    await page.getByLabel('Search groups and tabs').fill('bread rec')
    await page.getByText('Update would').waitFor({ state: 'hidden' })
    await page.locator('.card').getByText('Show all').click()
    await page.getByText('opens only where it was saved: file:///notes').waitFor()
    for (const name of ['Bread', 'Open', 'Rename']) await page.getByRole('button', { name, exact: true }).click()
    await page.locator('.card').getByRole('textbox').fill('Baking')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete on all devices' }).click()
    await page.getByLabel('Name').fill('New')
    await page.getByRole('button', { name: 'Save this window' }).click()
    await page.getByLabel('Search groups and tabs').fill('lots')
    await page.getByText('Similar tabs are open here.').waitFor()
    for (const name of ['Open', 'Cancel', 'In a new window', 'Open 16 tabs', 'Save it from now on'])
      await page.getByRole('button', { name, exact: true }).click()
    await page.evaluate(() => {
      const remove = async (permissions: object) => asked.push(permissions as never)
      const contains = async ({ permissions }: { permissions: string[] }) => permissions.join() !== 'history'
      Object.assign(chrome, { tabs: { group() {} }, permissions: { remove, contains } })
    })
    await page.getByRole('button', { name: 'Turn off' }).click()
    const given = { permissions: ['tabs', 'tabGroups'], data_collection: ['browsingActivity'] }
    t.same(await page.evaluate(() => asked.pop()), given)
    const acts = await page.evaluate(() => asked.flatMap((question) => ('act' in question ? [question.act] : [])))
    t.same(acts, [
      { do: 'open-tab', id: 'tab' },
      { do: 'open', id: 'one', inNewWindow: false, most: 15 },
      { do: 'rename', id: 'one', title: 'Baking' },
      { do: 'remove', id: 'one' },
      { do: 'save', what: 'window', title: 'New' },
      ...[false, true].map((inNewWindow) => ({ do: 'open', id: 'many', inNewWindow, most: 15 })),
      { do: 'open', id: 'many', inNewWindow: true, most: 16 },
      { do: 'follow', id: 'many' },
    ])
  })

  deep(t, 'If the server does not answer, popup and settings lead to changing its address', async (t) => {
    const { page, answers } = await openPopup(offline)
    await page.getByRole('button', { name: 'Change the address' }).waitFor()
    await answers(lookOf('in step'))
    await page.getByRole('button', { name: 'Change the address' }).waitFor({ state: 'hidden' })
    const { state } = offline
    await answers({ ...(state?.sync && { state: { ...state, sync: { ...state.sync, reason: 'service' } } }) })
    await page.getByText('Your server has a problem').waitFor()
    t.ok(await page.getByRole('button', { name: 'Change the address' }).isVisible())
    const settings = await openExtensionPage(context, 'options', offline, 'en')
    t.ok(await settings.getByRole('button', { name: 'Change the address' }).isVisible())
    const start = await openExtensionPage(context, 'start', offline, 'en', '#server')
    t.equal(await start.getByLabel('Address of your server').inputValue(), 'https://bookmarks.example.org')
  })

  for (const language of ['en', 'de']) {
    t.test(`The first-run page says what is wrong with an address: ${language}`, async () => {
      const page = await openExtensionPage(context, 'start', offline, language, '#server')
      const word = (name: string) => textsIn(language)[name]?.message ?? ''
      const says = (name: string, ...values: string[]) =>
        page.getByRole('alert').getByText(i18nOf(language).getMessage(name, values), { exact: true }).waitFor()
      await page.evaluate(() => {
        const permissions = { request: async () => true, contains: async () => true, remove: async () => true }
        Object.assign(chrome, { permissions })
        Object.assign((chrome as unknown as Platform).storage.local, { set: async () => {} })
        const fetch = async (asked: Request | string, init?: RequestInit) => {
          const { url, redirect } = new Request(asked, init)
          if (url.includes('moved') && redirect === 'manual') return Response.error()
          if (url.includes('moved')) throw new TypeError('Failed to fetch')
          if (url.includes('away')) throw new TypeError('Failed to fetch')
          return Object.defineProperty(new Response('<h1>Not found</h1>', { status: 404 }), 'url', { value: url })
        }
        Object.assign(globalThis, { fetch })
      })
      const enter = async (address: string) => {
        await page.getByLabel(word('address')).fill(address)
        await page.getByRole('button', { name: word('continue') }).click()
      }
      await enter('two words')
      await says('wrongAddress')
      await enter('away.example')
      await says('noAnswer', 'away.example')
      await enter('moved.example')
      await says('serverElsewhere', 'moved.example')
      await enter('other.example')
      await says('notServer', 'other.example')
    })
  }

  t.test(
    'A sign-in of another person deletes no unsent edits, and later nothing is left of the previous person',
    async (t) => {
      const page = await openExtensionPage(context, 'start', offline, 'en', '#server')
      const client = JSON.stringify(fileURLToPath(new URL('../../src/client/index.ts', import.meta.url)))
      const contents = `
      import { createClient, createSync, deriveKeys, indexedDbStore } from ${client}
      const baseUrl = 'https://bookmarks.example.org'
      const [keys, store] = [deriveKeys(new Uint8Array(32)), indexedDbStore('ada')]
      const sync = createSync({ client: createClient({ baseUrl, deviceId: 'd' }), keys, userId: 'ada', deviceId: 'd', store })
      globalThis.edited = sync.put({ id: 'a', title: 'Unsent', source: 'bookmarks' }).then(() => sync.stop())`
      const { outputFiles } = await build({ stdin: { contents, resolveDir: '.' }, bundle: true, write: false })
      await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
      await page.evaluate(async () => {
        await (globalThis as unknown as { edited: Promise<void> }).edited
        const { local } = (chrome as unknown as Platform).storage
        const settings = await local.get([])
        const set = async (values: object) => void Object.assign(settings, values)
        Object.assign(local, { set, remove: async () => {} })
        const permissions = { request: async () => true, contains: async () => true, remove: async () => true }
        Object.assign(chrome, { permissions, tabs: {} })
        const session = { user: { user_id: 'bob', email: 'bob@example.org', name: 'Bob' }, has_keyring: false }
        Object.assign(globalThis, { fetch: async () => Response.json(session) })
      })
      const signIn = async () => {
        await page.getByLabel('Address of your server').fill('bookmarks.example.org')
        await page.getByRole('button', { name: 'Continue' }).click()
      }
      const left = () =>
        page.evaluate(async () => {
          const names = (await indexedDB.databases()).flatMap(({ name = '' }) => (name.includes('ada') ? name : []))
          return [names, ((await (chrome as unknown as Platform).storage.local.get([])) as { userId: string }).userId]
        })
      await signIn()
      await page.getByText('This is another account than before').waitFor()
      t.same(await left(), [['encrypted-bookmark-sync-ada'], 'ada'])
      // The previous person signs in again, sends the edit and signs out, but a crash ends that half way.
      await page.evaluate(async () => {
        await new Promise((done) => (indexedDB.deleteDatabase('encrypted-bookmark-sync-ada').onsuccess = done))
        const opening = indexedDB.open('encrypted-bookmark-sync-visits-ada')
        await new Promise((done) => (opening.onsuccess = done))
        opening.result.close()
      })
      await page.getByRole('button', { name: 'Another server' }).click()
      await signIn()
      await page.getByText('You are signed in as bob@example.org.').waitFor()
      t.same(await left(), [[], 'bob'])
    },
  )

  t.test('A page is requested for its title only if it is public, and the title is read as by a browser', async (t) => {
    const page = await openExtensionPage(context, 'titles', {}, 'en')
    /** The response of each address, as bytes. `end` is where it redirected to. */
    const sites: Record<string, { type?: string; status?: number; body?: string; end?: string }> = {
      'https://a.example/utf-8': { body: '<!doctype html><title>\n Gr\xc3\xbc\xc3\x9fe \n &amp; K&uuml;sse </title>' },
      'https://a.example/header': { type: 'text/html; charset=shift_jis', body: '<title>\x83e</title>' },
      'https://a.example/none': { body: '<title>caf\xe9</title>' },
      'https://a.example/wrong': { type: 'text/html; charset=nonsense', body: '<title>\xc3\xa9</title>' },
      'https://a.example/late': { body: `<style>${'x'.repeat(300_000)}</style><title>Late</title>` },
      'https://a.example/endless': { body: `<style>${'x'.repeat(900_000)}</style><title>Too late</title>` },
      'https://a.example/long': { body: `<title>${'\xf0\x9f\xa6\x8a'.repeat(900)}` },
      'https://a.example/pdf': { type: 'application/pdf', body: '<title>No page</title>' },
      'https://a.example/404': { status: 404, body: '<title>Not found</title>' },
      'https://a.example/': { body: '<p>Nothing</p>' },
      'https://a.example/www': { end: 'https://www.a.example/here', body: '<title>Here</title>' },
      'https://a.example/away': { end: 'https://sign-in.example/', body: '<title>Sign in</title>' },
      'https://a.example/down': { end: 'http://a.example/', body: '<title>In the clear</title>' },
    }
    await page.evaluate((sites) => {
      const calls: [string, RequestInit][] = []
      const fetch = async (url: URL, init: RequestInit) => {
        calls.push([url.href, init])
        const {
          type = 'text/html',
          status = 200,
          end = url.href,
          body = '<title>Asked</title>',
        } = sites[url.href] ?? {}
        const bytes = Uint8Array.from(body, (letter) => letter.charCodeAt(0))
        const response = new Response(bytes, { status, headers: { 'content-type': type } })
        return Object.defineProperty(response, 'url', { value: end })
      }
      Object.assign(globalThis, { fetch, calls })
    }, sites)
    const askedOf = () => page.evaluate(() => calls.map(([url]) => url))
    const titleOf = (address: string) =>
      page.evaluate(async (address) => {
        const file = '/titles.js'
        return (await import(file)).titleOf(address) as Promise<string>
      }, address)
    const expected = ['Grüße & Küsse', 'テ', 'café', 'é', 'Late', '', '🦊'.repeat(500), '', '', '', 'Here', '', '']
    for (const [nth, address] of Object.keys(sites).entries()) t.equal(await titleOf(address), expected[nth], address)
    t.equal(await titleOf('http://a.example/utf-8'), 'Grüße & Küsse', 'encrypted')
    t.same(await askedOf(), [...Object.keys(sites), 'https://a.example/utf-8'])
    const privately = await page.evaluate(() =>
      calls.every(([, { credentials, referrerPolicy }]) => credentials === 'omit' && referrerPolicy === 'no-referrer'),
    )
    t.ok(privately, 'without cookies and anything that identifies the user')
    for (const host of [
      ...[
        'localhost',
        'nas',
        'nas.local',
        'nas.home.arpa',
        'a.internal',
        '127.0.0.1',
        '0x7f.1',
        '2130706433',
        '0.0.0.0',
      ],
      ...[
        '10.1.2.3',
        '172.16.0.1',
        '172.31.9.9',
        '192.168.1.1',
        '169.254.169.254',
        '100.64.0.1',
        '198.18.0.1',
        '224.0.0.1',
      ],
      ...['[::1]', '[::]', '[fe80::1]', '[fd00::1]', '[::ffff:10.0.0.1]', '[2002:a00:1::]', '[64:ff9b::a00:1]'],
      ...['me:secret@a.example', 'localhost.', '255.255.255.255'],
    ]) {
      t.equal(await titleOf(`https://${host}/`), '', host)
    }
    t.equal(await titleOf('http://a.example:8080/'), '')
    t.equal((await askedOf()).length, Object.keys(sites).length + 1, 'no other address was requested')
    for (const host of ['172.32.0.1', '8.8.8.8', '[2606:4700::1]', '100.128.0.1']) {
      t.equal(await titleOf(`https://${host}/`), 'Asked', host)
    }
  })

  deep(t, 'The settings fit with any folder name, and do not offer folders of the administrator', async (t) => {
    const page = await openExtensionPage(context, 'options', lookOf('in step'), 'en')
    await page.getByLabel('Cooking').waitFor()
    t.equal(await page.getByLabel('Intranet').count(), 0)
    await page.locator('label', { hasText: 'Cooking' }).evaluate((label) => label.append('x'.repeat(300)))
    t.equal(await overflow(page), 0)
  })
}
