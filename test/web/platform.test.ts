import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import fc from 'fast-check'
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import type { base64ToBytes, bytesToBase64 } from '../../src/client/crypto/base64.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import type { decryptBookmarkAside, recordSealer } from '../../src/client/crypto/many-records.ts'
import { decryptBookmark, encryptBookmark, type SealedRecord, toJson } from '../../src/client/crypto/record.ts'
import { openChromium } from './fixture.ts'

declare const base64: { base64ToBytes: typeof base64ToBytes; bytesToBase64: typeof bytesToBase64 }
declare const record: { decryptBookmarkAside: typeof decryptBookmarkAside }
declare const sealer: { recordSealer: typeof recordSealer }

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test("the browser's own base64 decoder accepts what Node writes and nothing else", async (t) => {
    const page = await open(browser, 'https://app.example/', 'base64', 'crypto/base64')
    t.ok(await page.evaluate(() => 'fromBase64' in Uint8Array), 'this browser has its own decoder')

    const texts = fc
      .sample(fc.array(fc.constantFrom(...'AQgwB/+=- \n'), { maxLength: 9 }), 3000)
      .map((all) => all.join(''))
    const buffers = fc
      .sample(fc.uint8Array({ maxLength: 30 }), 300)
      .map((bytes) => Buffer.from(bytes).toString('base64'))
    const all = [...texts, ...buffers, 'A', 'AA', 'AAA', 'AA=', 'AA== ', 'A A=', 'AB==', 'AAB=', 'AAAA====', 'Ä===']
    const taken = await page.evaluate(
      (all) =>
        all.map((text) => {
          const bytes = base64.base64ToBytes(text)
          return bytes ? base64.bytesToBase64(bytes) : null
        }),
      all,
    )
    const expected = all.map((text) => (Buffer.from(text, 'base64').toString('base64') === text ? text : null))
    t.same(taken, expected)
  })

  for (const [url, isSecure] of [
    ['https://app.example/', true],
    ['http://app.example/', false],
  ] as const) {
    t.test(`a record's hash is checked on ${url}, by Web Crypto if available`, async (t) => {
      const page = await open(browser, url, 'record', 'crypto/many-records')
      t.equal(await page.evaluate(() => crypto.subtle !== undefined), isSecure)
      const keys = deriveKeys(randomBytes(32))
      const bookmark = { id: 'a', title: 'Example', source: 'bookmarks' as const }
      const sealed = { id: 'a', ...encryptBookmark(keys, bookmark) }
      const openThere = (sealed: Parameters<typeof decryptBookmarkAside>[1]) =>
        page.evaluate(
          ({ recordKey, sealed }) => {
            const key = { recordKey: Uint8Array.from(recordKey), prefix: Uint8Array.of(1) }
            const keys = key as Parameters<typeof decryptBookmarkAside>[0]
            return record.decryptBookmarkAside(keys, sealed).catch(({ fault }) => fault)
          },
          { recordKey: [...keys.recordKey], sealed },
        )
      t.same(await openThere(sealed), bookmark)
      t.equal(await openThere({ ...sealed, data_hash: '0'.repeat(64) }), 'altered-hash')
    })

    t.test(`a record is encrypted on ${url} as in Node`, async (t) => {
      const page = await open(browser, url, 'sealer', 'crypto/many-records')
      const keys = deriveKeys(randomBytes(32))
      const bookmark = { id: 'a', title: 'Example', source: 'bookmarks' as const }
      const [sealed] = await page.evaluate(
        async ({ recordKey, hashKey, json }) => {
          const derived = { recordKey: Uint8Array.from(recordKey), hashKey: Uint8Array.from(hashKey) }
          const keys = { ...derived, prefix: Uint8Array.of(1) }
          const seal = await sealer.recordSealer(keys as Parameters<typeof recordSealer>[0], 'bookmark')
          return seal([['a', json]])
        },
        { recordKey: [...keys.recordKey], hashKey: [...keys.hashKey], json: toJson(bookmark) },
      )
      t.equal((sealed as SealedRecord).data_hash, encryptBookmark(keys, bookmark).data_hash)
      t.same(decryptBookmark(keys, { id: 'a', ...(sealed as SealedRecord) }), bookmark)
    })
  }
}

/** A page at this URL with this module of the client as a global of this name. */
async function open(browser: Browser, url: string, name: 'base64' | 'record' | 'sealer', file: string): Promise<Page> {
  const page = await browser.newPage()
  await page.route(url, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }))
  await page.goto(url)
  const source = fileURLToPath(new URL(`../../src/client/${file}.ts`, import.meta.url))
  const bundled = { bundle: true, format: 'iife', globalName: name, write: false } as const
  const { outputFiles } = await build({ entryPoints: [source], ...bundled })
  await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
  return page
}
