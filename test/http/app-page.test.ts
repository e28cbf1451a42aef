/** What `GET /` leads to in production: the web page by SERVE_APP, or by the name that 2.0.0 had for it. */
import t from 'tap'
import { buildApp } from '../support/app.ts'

const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://sync.example.org',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://127.0.0.1:9',
  SERVE_APP: '',
}

const cases: [name: string, env: Record<string, string>, isServed: boolean][] = [
  ['nothing is set', {}, false],
  ['SERVE_APP=true', { SERVE_APP: 'true' }, true],
  ['SERVE_DEMO=true', { SERVE_DEMO: 'true' }, true],
  ['SERVE_APP=false is newer than SERVE_DEMO=true', { SERVE_APP: 'false', SERVE_DEMO: 'true' }, false],
]

for (const [name, env, isServed] of cases) {
  t.test(`In production, ${name}: the web page is ${isServed ? '' : 'not '}served`, async (t) => {
    const { listen } = await buildApp(t, { ...production, ...env })
    const origin = await listen()
    const ask = (path: string) => fetch(origin + path, { redirect: 'manual', headers: { connection: 'close' } })
    const [root, app] = [await ask('/'), await ask('/demo/app.js')]
    t.same([root.status, root.headers.get('location'), app.status], isServed ? [200, null, 200] : [302, '/docs', 404])
    if (isServed) t.match(await root.text(), /\/demo\//)
  })
}

t.test('What is neither true nor false is refused by its own name', async (t) => {
  for (const name of ['SERVE_APP', 'SERVE_DEMO'])
    await t.rejects(buildApp(t, { ...production, [name]: 'yes' }), {
      message: `${name} must be one of: true, false`,
    })
})
