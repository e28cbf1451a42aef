/** The guide's React app from its first sign-in on, under StrictMode, which runs effects twice. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { readSamples, withPackage } from '../client/package-samples.ts'
import { folder, startService } from '../support/service.ts'
import { developmentProvider, enter, openChromium, openContext } from './fixture.ts'

const entry = `
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Root } from './1-react.tsx'

globalThis.asked = 0
const dialogs = {
  askPassphrase: async () => {
    asked++
    return 'tinsel walrus oboe fjord'
  },
  showRecoveryCode: async () => {},
}
createRoot(document.querySelector('main')).render(createElement(StrictMode, null, createElement(Root, { dialogs })))
`
declare const asked: number

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test("the guide's app creates one vault and one sync, and opens both again after a reload", async (t) => {
    const { origin } = await startService(t, await folder(t), { SERVE_APP: 'true', ...(await developmentProvider()) })
    // The policy of the service's pages would block the guide's code.
    const page = await (await openContext(t, browser, { bypassCSP: true })).newPage()
    await enter(page, origin, 'Ada')
    const code = await bundle(await folder(t), origin)
    const asksFor = async () => {
      await page.goto(`${origin}/api/v1/health`)
      await page.setContent('<main></main>')
      await page.addScriptTag({ content: code })
      await page.getByText('online, 0 to send').waitFor()
      return page.evaluate(() => asked)
    }
    t.equal(await asksFor(), 1, 'one passphrase')
    t.equal(await asksFor(), 0, 'the passphrase is not asked again: the browser keeps the key')
  })
}

async function bundle(at: string, origin: string): Promise<string> {
  const samples = Object.fromEntries(await readSamples())
  const own = (file: string) => (samples[file] ?? '').replace('https://sync.example.org', origin)
  for (const file of ['start.ts', 'react.tsx', '1-react.tsx']) await writeFile(join(at, file), own(file))
  await writeFile(join(at, 'entry.js'), entry)
  const { outputFiles } = await build({
    entryPoints: [join(at, 'entry.js')],
    ...{ bundle: true, format: 'iife', write: false, jsx: 'automatic' },
    ...withPackage,
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  return outputFiles[0]?.text ?? ''
}
