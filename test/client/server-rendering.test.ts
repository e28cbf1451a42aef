/** The guide's apps, rendered on a server: they use no browser APIs there and do not keep the process running. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { buildForTests } from '../../scripts/test/build.ts'
import { isDeep } from '../support/depth.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openChromium } from '../web/fixture.ts'
import { packageName as name, readSamples, readSveltePage, withPackage } from './package-samples.ts'

const run = promisify(execFile)
const dist = fileURLToPath(new URL('../../dist/client', import.meta.url))
const samples = Object.fromEntries(await readSamples())

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
  const { stdout } = await run(process.execPath, [join(at, 'page.cjs')])
  t.match(stdout, /^<p>Opening…<\/p>\n<p>offline<!-- -->, <!-- -->0<!-- --> to send<\/p>/)
})

const compilerOptions = {
  ...{
    strict: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023', 'dom', 'dom.iterable'],
  },
  ...{ jsx: 'react-jsx', noEmit: true, allowImportingTsExtensions: true, skipLibCheck: true },
}
/** An app that has only the guide's page, by framework: its packages and files, how to build and start it. */
const apps = {
  Next: {
    packages: ['next@16', 'react@19', 'react-dom@19', 'typescript@5.9', '@types/react@19', '@types/node@24'],
    files: {
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['app'] }),
      'app/layout.tsx': `import type { ReactNode } from 'react'
        export default function Layout({ children }: { children: ReactNode }) { return <html><body>{children}</body></html> }`,
      'app/page.tsx': samples['page.tsx'],
      ...Object.fromEntries(['start.ts', 'react.tsx', '1-react.tsx'].map((file) => [`app/${file}`, samples[file]])),
    },
    build: ['next', 'build'],
    start: (port: number) => ['node_modules/next/dist/bin/next', 'start', '--port', `${port}`],
  },
  SvelteKit: {
    packages: ['svelte@5', '@sveltejs/kit@3', '@sveltejs/adapter-node@6', '@sveltejs/vite-plugin-svelte@7', 'vite@8'],
    files: {
      'vite.config.js': `import adapter from '@sveltejs/adapter-node'
        import { sveltekit } from '@sveltejs/kit/vite'
        export default { plugins: [sveltekit({ adapter: adapter() })] }`,
      'src/app.html': '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'src/routes/+page.svelte': await readSveltePage(),
      'src/routes/start.ts': samples['start.ts'],
    },
    build: ['vite', 'build'],
    start: () => ['build'],
  },
}

for (const [framework, app] of Object.entries(apps))
  t.test(`The guide's page of ${framework} is built, rendered, and runs in a browser`, async (t) => {
    if (!isDeep) return t.comment('with --deep: it installs the framework')
    await buildForTests('client')
    const at = await folder(t)
    const files = { 'package.json': '{ "type": "module", "private": true }', ...app.files }
    for (const [file, text = ''] of Object.entries(files)) {
      await mkdir(dirname(join(at, file)), { recursive: true })
      await writeFile(join(at, file), text)
    }
    const { stdout: packed } = await run('npm', ['pack', dist], { cwd: at })
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `./${packed.trim()}`]
    await run('npm', [...install, ...app.packages], { cwd: at })
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
    await run('npx', app.build, { cwd: at, env })
    const port = await freePort()
    const server = spawn(process.execPath, app.start(port), {
      cwd: at,
      env: { ...env, PORT: `${port}` },
      stdio: 'ignore',
    })
    t.teardown(() => end(server))
    const origin = `http://localhost:${port}`
    const rendered = () =>
      fetch(origin).then(
        (response) => response.text(),
        () => undefined,
      )
    await until(async () => (await rendered()) !== undefined)
    t.match(await rendered(), '<p>Opening…</p>')
    await signInFrom(t, origin)
  })

async function end(server: ChildProcess): Promise<void> {
  const exit = once(server, 'exit')
  server.kill()
  await exit
}

/** Nobody is signed in, so the page must go to the provider: the client, its calls and browser APIs work. */
async function signInFrom(t: Test, origin: string): Promise<void> {
  const browser = await openChromium()
  if (typeof browser === 'string') throw new Error(browser)
  const tab = await browser.newPage()
  t.teardown(() => tab.close())
  const provider = 'https://provider.example/'
  await tab.route('https://sync.example.org/**', (route) => {
    const isLogin = route.request().url().endsWith('/login')
    return route.fulfill({
      status: isLogin ? 200 : 401,
      json: isLogin ? { authorizationUrl: provider } : { authenticated: false },
      headers: {
        ...(!isLogin && { 'x-error-code': 'AuthenticationRequired' }),
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': 'content-type, x-user-id, x-device-id',
        'access-control-expose-headers': 'x-error-code',
      },
    })
  })
  await tab.route(provider, (route) => route.fulfill({ contentType: 'text/html', body: '<p>Sign in</p>' }))
  await tab.goto(origin)
  await tab.waitForURL(provider)
  t.equal(await tab.textContent('p'), 'Sign in')
}
