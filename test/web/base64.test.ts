import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import fc from 'fast-check'
import t from 'tap'
import type { base64ToBytes, bytesToBase64 } from '../../src/client/base64.ts'
import { openChromium } from './fixture.ts'

declare const base64: { base64ToBytes: typeof base64ToBytes; bytesToBase64: typeof bytesToBase64 }

const source = fileURLToPath(new URL('../../src/client/base64.ts', import.meta.url))

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test("the browser's own decoder, where there is one, takes what Node writes and nothing else", async (t) => {
    const page = await browser.newPage()
    const { outputFiles } = await build({
      entryPoints: [source],
      bundle: true,
      format: 'iife',
      globalName: 'base64',
      write: false,
    })
    await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
    t.ok(await page.evaluate(() => 'fromBase64' in Uint8Array), 'this one has it')

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
}
