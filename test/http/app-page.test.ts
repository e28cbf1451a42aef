/** `GET /` in production, by SERVE_APP or its 2.0.0 name SERVE_DEMO, and the page for addresses that do not exist. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { rawRequest, sendRaw } from '../hostile/raw.ts'
import { buildApp, production } from '../support/app.ts'

const cases: [name: string, env: Record<string, string>, isServed: boolean][] = [
  ['nothing is set', {}, false],
  ['SERVE_APP=true', { SERVE_APP: 'true' }, true],
  ['SERVE_DEMO=true', { SERVE_DEMO: 'true' }, true],
  ['SERVE_APP=false is newer than SERVE_DEMO=true', { SERVE_APP: 'false', SERVE_DEMO: 'true' }, false],
]

for (const [name, env, isServed] of cases) {
  t.test(`In production, ${name}: the web page is ${isServed ? '' : 'not '}served`, async (t) => {
    const { listen } = await buildApp(t, { ...production, SERVE_APP: '', ...env })
    const origin = await listen()
    const ask = (path: string) => fetch(origin + path, { redirect: 'manual', headers: { connection: 'close' } })
    const [root, app] = [await ask('/'), await ask('/demo/app.js')]
    t.same([root.status, root.headers.get('location'), app.status], isServed ? [200, null, 200] : [302, '/docs', 404])
    if (!isServed) return
    t.match(await root.text(), /\/demo\//)
    t.equal(root.headers.get('x-dns-prefetch-control'), 'off', 'browsers do not resolve the hosts of shown bookmarks')
  })
}

t.test('The first load of the page takes less than 250 kB', async (t) => {
  const { listen } = await buildApp(t, { ...production, SERVE_APP: 'true' })
  const origin = await listen()
  const load = async (path: string) => Buffer.from(await (await fetch(origin + path)).arrayBuffer())
  const page = await load('/')
  const names = new Set(Array.from(`${page}`.matchAll(/"(\/demo\/[\w.-]+\.(?:js|css))"/g), ([, name = '']) => name))
  t.ok(names.has('/demo/app.js') && names.has('/demo/style.css') && names.size > 10, `${names.size} files`)
  const files = await Promise.all([...names].map(load))
  const bytes = files.reduce((sum, { length }) => sum + length, page.length)
  t.ok(bytes < 250_000, `${bytes} bytes`)
})

t.test('SERVE_APP and SERVE_DEMO must be true or false, and the error has the right name', async (t) => {
  for (const name of ['SERVE_APP', 'SERVE_DEMO'])
    await t.rejects(buildApp(t, { ...production, [name]: 'yes' }), { message: `${name} must be one of: true, false` })
})

t.test('A person at an unknown address sees links to known pages, and nothing of the address', async (t) => {
  const { listen } = await buildApp(t, { SERVE_APP: 'true' })
  const origin = await listen()
  const ask = (line: string, ...headers: string[]) => sendRaw(origin, rawRequest(line, headers))
  const navigation = 'Accept: text/html,application/xhtml+xml,*/*;q=0.8'
  const notFound = await ask('GET /does-not-exist', navigation)
  t.same([notFound.status, notFound.type], [404, 'text/html; charset=utf-8'])
  t.match(notFound.body, /<html lang="en">.*<h1>There is nothing here<.*href="\/".*href="\/docs\/using"/)
  t.notMatch(notFound.body, /<script/)
  const [, style = ''] = /<style>(.*)<\/style>/.exec(notFound.body) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  t.match(notFound.headers['content-security-policy'], `default-src 'none'; style-src 'sha256-${hash}'; `)
  t.match(notFound.headers['cache-control'], 'no-store')
  for (const path of [
    '/<script>alert(1)</script>',
    '/%3Cscript%3Ealert(1)%3C/script%3E?"><img src=x>',
    '//evil.example/x',
    '/\\evil.example',
    '/..%2f..%2fetc/passwd',
    '/demo/../../package.json',
    '/x%0d%0aSet-Cookie:%20a=b',
    `/${'a'.repeat(8000)}`,
  ]) {
    const { status, body, headers } = await ask(`GET ${path.replaceAll(' ', '%20')}`, navigation)
    t.same([status, body, headers['set-cookie'], headers.location], [404, notFound.body, undefined, undefined], path)
  }
  const german = await ask('GET /x', navigation, 'Accept-Language: de-AT,de;q=0.9,en;q=0.8')
  t.match(Buffer.from(german.body, 'latin1').toString(), /<html lang="de">.*<h1>Hier ist nichts<.*>Lesezeichen öffnen</)
  t.match((await ask('GET /x', navigation, 'Accept-Language: en,de')).body, /lang="en"/)
  const head = await ask('HEAD /x', navigation)
  t.same([head.status, head.type, head.body], [404, 'text/html; charset=utf-8', ''])

  const json = [404, 'application/json; charset=utf-8', '{"error":"Not found"}']
  for (const [line, ...headers] of [
    ['GET /does-not-exist'],
    ['GET /does-not-exist', 'Accept: */*'],
    ['GET /does-not-exist', 'Accept: application/json'],
    ['POST /does-not-exist', navigation, 'Content-Length: 0'],
    ['GET /api/v1/nothing', navigation],
    ['GET /api', navigation],
    ['GET /api?x', navigation],
  ] as const) {
    const { status, type, body } = await ask(line, ...headers)
    t.same([status, type, body], json, `${line} ${headers}`)
  }
  t.equal((await ask('GET /%zz', navigation)).type, 'application/json; charset=utf-8')
})

t.test('Without a web page here, an unknown address links to APP_URL or to the documents', async (t) => {
  for (const [APP_URL, expected] of [
    ['https://web.example', /<li><a href="https:\/\/web\.example\/">/],
    ['', /<ul><li><a href="\/docs\/using">Help/],
  ] as const) {
    const { app } = await buildApp(t, { ...production, APP_URL })
    t.match((await app.inject({ url: '/x', headers: { accept: 'text/html' } })).body, expected)
  }
})

t.test("The contracts are served unchanged; a document's outdated address redirects or is not found", async (t) => {
  const { app } = await buildApp(t)
  for (const name of ['openapi.yaml', 'asyncapi.yaml']) {
    const { statusCode, headers, body } = await app.inject(`/${name}`)
    t.same([statusCode, headers['content-type']], [200, 'application/yaml; charset=utf-8'])
    t.equal(body, await readFile(new URL(`../../${name}`, import.meta.url), 'utf8'), 'the file is served unchanged')
  }
  const page = await app.inject('/docs/http')
  t.equal((await app.inject('/docs/')).statusCode, 200)
  t.same([page.statusCode, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
  t.match(page.headers['content-security-policy'], /^default-src 'none'; script-src 'self';/)
  t.equal((await app.inject('/')).headers.location, '/docs')
  const browser = { accept: 'text/html,*/*;q=0.8', host: 'sync.example.org' }
  const outdated = await app.inject({ url: '/docs/outdated.html', headers: browser })
  t.same([outdated.statusCode, outdated.headers['content-type']], [404, 'text/html; charset=utf-8'])
  t.match(outdated.body, '<title>404 · ')
  const deeper = await app.inject({ url: '/docs/operating/nothing', headers: browser })
  t.same([deeper.statusCode, deeper.body], [404, outdated.body])
  const asInRepository = await app.inject({ url: '/docs/operating/configuration.md', headers: browser })
  t.same([asInRepository.statusCode, asInRepository.headers.location], [302, '/docs/configuration'])
  const program = await app.inject('/docs/outdated.html')
  t.same([program.statusCode, program.json()], [404, { error: 'Not found' }])
})
