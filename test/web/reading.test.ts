import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readBookmarkFile, writeBookmarkCsv, writeBookmarkJson } from '../../src/client/bookmark-file.ts'
import type { FromReader } from '../../src/web/settings/reading-worker.ts'
import { depth } from '../support/depth.ts'
import { folder } from '../support/service.ts'
import { importFile, openChromium, openPage } from './fixture.ts'

/** The page copies a part of the bookmarks in one go. */
const longestPart = 500
const count = depth(20_000, 100_000)

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('However large a file is, the page reads none of it, and takes its bookmarks in small parts', async (t) => {
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
      'the reader is only there',
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
      t.equal(parts.reduce((sum, length) => sum + length, 0) >= count, true, `${format}: all of them`)
      t.equal(Math.max(...parts) <= longestPart, true, `${format}: no part is large`)
    }
  })
}

/** In the page: the numbers of bookmarks in the messages of the reader. */
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

/** Files with so many links, in folders of fifty. */
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
