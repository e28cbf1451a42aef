import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { readBookmarkFile, writeBookmarkCsv, writeBookmarkJson } from '../../src/client/bookmark-file.ts'
import type { FromReader } from '../../src/web/settings/reading-worker.ts'
import { formatSamples } from '../client/bookmark-file/format-samples.ts'
import { linesOf } from '../client/bookmark-file/samples.ts'
import { fileOf, style, tree } from '../client/bookmark-file/writers.ts'
import { depth, isDeep } from '../support/depth.ts'
import { folder } from '../support/service.ts'
import { importFile, openChromium, openPage } from './fixture.ts'

/** The most bookmarks that the page copies in one go. */
const longestPart = 500
const count = depth(5_000, 100_000)

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('The page reads odd files, and files of all sources and programs, correctly', async (t) => {
    const page = await openPage(t, browser, 'Olga')
    // The reader's own tests read all files in Node, so quick runs read only every third one here.
    const files = (await smallFiles()).filter((_, at) => isDeep || at % 3 === 0)
    await page.evaluate(() => {
      const input = document.createElement('input')
      document.body.append(Object.assign(input, { id: 'small', type: 'file', multiple: true }))
    })
    const chosen = files.map(({ name, bytes }) => ({ name, mimeType: '', buffer: Buffer.from(bytes) }))
    await page.setInputFiles('#small', chosen)
    const all = await page.evaluate(readEach)
    t.ok(files.length > depth(25, 70))
    const told = all.map((read) => (typeof read === 'string' ? [read] : linesOf(read)))
    for (const [at, { name, lines }] of files.entries()) t.same(told[at], lines, name)
  })

  t.test("The page's thread reads no part of a large file, and gets its bookmarks in small parts", async (t) => {
    const page = await openPage(t, browser, 'Rita')
    const loaded: string[] = []
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
    const threads: string[] = []
    page.on('worker', (worker) => threads.push(new URL(worker.url()).pathname))
    await importFile(page, {
      name: 'x',
      mimeType: '',
      buffer: Buffer.from('url\nhttps://one.example/\nhttps://two.example/\n'),
    })
    t.same(threads, ['/demo/reading.js'])
    t.same(
      loaded.filter((path) => path.includes('bookmark-file')),
      [],
      'only the worker loads the reader',
    )
    await page.evaluate(() => {
      const input = document.createElement('input')
      document.body.append(Object.assign(input, { id: 'large', type: 'file' }))
    })
    const path = join(await folder(t), 'large')
    for (const [format, text] of Object.entries(await largeFiles())) {
      await writeFile(path, text)
      await page.setInputFiles('#large', path)
      const parts = await page.evaluate(readLarge)
      t.equal(parts.reduce((sum, length) => sum + length, 0) >= count, true, `${format}: all bookmarks arrive`)
      t.equal(Math.max(...parts) <= longestPart, true, `${format}: no part is large`)
    }
  })
}

interface InPage {
  name: string
  bytes: Uint8Array
  lines: string[]
}

/** Files with their expected bookmarks, as lines of `linesOf`, or the expected error. */
async function smallFiles(): Promise<InPage[]> {
  const folder = new URL('../fixtures/odd-bookmarks/', import.meta.url)
  const expected: Record<string, string[]> = JSON.parse(await readFile(new URL('expected.json', folder), 'utf8'))
  const faults: Record<string, string> = { 'empty.html': 'empty', 'only-nul.html': 'unknown' }
  const names = (await readdir(folder)).filter((name) => name.endsWith('.html'))
  const odd = names.map(async (name) => {
    const fault = faults[name]
    return { name, bytes: await readFile(new URL(name, folder)), lines: fault ? [fault] : (expected[name] ?? []) }
  })
  const samples = formatSamples.map(({ source, text, lines }) => ({ name: source, bytes: Buffer.from(text), lines }))
  const written = fc.sample(fc.tuple(tree, style), depth(25, 2000)).flatMap(([items, style], at) => {
    const bytes = fileOf(items, style)
    return items.length > 0 ? { name: `program ${at}`, bytes, lines: linesOf(readBookmarkFile(bytes)) } : []
  })
  return [...(await Promise.all(odd)), ...samples, ...written]
}

/** Runs in the page. Returns the reader's result for each file. */
async function readEach(): Promise<({ bookmarks: PlaintextBookmark[]; unread: number } | string)[]> {
  const { files } = document.querySelector('#small') as HTMLInputElement
  const readOne = (file: File) => {
    const thread = new Worker('/demo/reading.js', { type: 'module' })
    const bookmarks: PlaintextBookmark[] = []
    return new Promise<{ bookmarks: PlaintextBookmark[]; unread: number } | string>((resolve) => {
      thread.addEventListener('message', ({ data }: MessageEvent<FromReader>) => {
        if ('part' in data) bookmarks.push(...data.part)
        else if ('read' in data) resolve({ bookmarks, unread: data.read.unread })
        else resolve('fault' in data ? data.fault : String(data.error))
      })
      thread.postMessage(file)
    }).finally(() => thread.terminate())
  }
  const all: ({ bookmarks: PlaintextBookmark[]; unread: number } | string)[] = []
  for (const file of files ?? []) all.push(await readOne(file))
  return all
}

/** Runs in the page. Returns the number of bookmarks in each message of the reader. */
function readLarge(): Promise<number[]> {
  const { files } = document.querySelector('#large') as HTMLInputElement
  const thread = new Worker('/demo/reading.js', { type: 'module' })
  const parts: number[] = []
  return new Promise<number[]>((resolve, reject) => {
    thread.addEventListener('message', ({ data }: MessageEvent<FromReader>) => {
      if ('part' in data) parts.push(data.part.length)
      else if ('read' in data) resolve(parts)
      else reject(data)
    })
    thread.postMessage(files?.[0])
  }).finally(() => thread.terminate())
}

/** Files in several formats with `count` links. Formats with folders have them in folders of fifty. */
async function largeFiles(): Promise<Record<string, string>> {
  const links = Array.from({ length: count }, (_, at) => ({ url: `https://example.org/${at}`, name: `Link ${at}`, at }))
  const folders = [...Map.groupBy(links, ({ at }) => Math.floor(at / 50))]
  const html = folders.map(([at, links]) => {
    const items = links.map(({ url, name }) => `<DT><A HREF="${url}" ADD_DATE="1600000000">${name}</A>\n`)
    return `<DT><H3>Folder ${at}</H3>\n<DL><p>\n${items.join('')}</DL><p>\n`
  })
  const netscape = `<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n${html.join('')}</DL><p>\n`
  const { bookmarks } = readBookmarkFile(netscape)
  const chrome = folders.map(([at, links]) => {
    return { type: 'folder', name: `Folder ${at}`, children: links.map((link) => ({ ...link, type: 'url' })) }
  })
  const [container, place] = ['text/x-moz-place-container', 'text/x-moz-place']
  const firefox = folders.map(([at, links]) => {
    const children = links.map(({ url, name }) => ({ type: place, uri: url, title: name }))
    return { type: container, title: `Folder ${at}`, children }
  })
  const menu = { type: container, root: 'bookmarksMenuFolder', children: firefox }
  return {
    netscape,
    chrome: JSON.stringify({ roots: { other: { type: 'folder', name: 'Other', children: chrome } } }),
    firefox: JSON.stringify({ type: container, root: 'placesRoot', children: [menu] }),
    pinboard: JSON.stringify(links.map(({ url, name }) => ({ href: url, description: name, tags: 'one two' }))),
    xbrowsersync: JSON.stringify({
      xbrowsersync: { data: { bookmarks: links.map(({ url, name }) => ({ url, title: name })) } },
    }),
    pocket: `title,url,time_added\n${links.map(({ url, name }) => `${name},${url},1600000000\n`).join('')}`,
    csv: await writeBookmarkCsv(bookmarks),
    export: writeBookmarkJson(bookmarks),
  }
}
