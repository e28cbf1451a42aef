/** The guide's React app, rendered by a server's React: it needs nothing of a browser, and keeps no process alive. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import t from 'tap'
import { folder } from '../support/service.ts'
import { packageName as name, readSamples, withPackage } from './package-samples.ts'

const page = `
import { createClient, createSync, deriveKeys, indexedDbStore } from '${name}'
import { createElement, StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { Root } from './1-react.tsx'
import { App } from './react.tsx'

const render = (...element) => console.log(renderToString(createElement(StrictMode, null, createElement(...element))))
render(Root, { dialogs: {} })
const client = createClient({ baseUrl: 'https://sync.example.org', deviceId: 'd' })
const keys = deriveKeys(new Uint8Array(32))
render(App, { sync: createSync({ client, keys, userId: 'ann', deviceId: 'd', store: indexedDbStore('ann') }) })
`

t.test("The guide's app is rendered on a server, whose process then ends by itself", async (t) => {
  const at = await folder(t)
  const samples = Object.fromEntries(await readSamples())
  for (const file of ['start.ts', 'react.tsx', '1-react.tsx'])
    await writeFile(join(at, file), `import * as React from 'react'\n${samples[file]}`)
  await writeFile(join(at, 'page.js'), page)
  await build({
    entryPoints: [join(at, 'page.js')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: join(at, 'page.cjs'),
    ...withPackage,
  })
  const { stdout } = await promisify(execFile)(process.execPath, [join(at, 'page.cjs')])
  t.match(stdout, /^<p>Opening…<\/p>\n<p>offline<!-- -->, <!-- -->0<!-- --> to send<\/p>/)
})
