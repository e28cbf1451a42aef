/**
 * Two users whose ids, events, devices and times are all the same, so that what the service stores of them differs in the user
 * alone. Each sees, at each step, what a user without a twin would, and nothing that the other one does.
 */
import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { keyringOf } from '../support/keyrings.ts'

/** At the beginning of an hour, so that none ends in between. */
const start = Date.now() - (Date.now() % 3_600_000)
/** What follows fits into it, with all versions that are kept. */
const maxBytes = 30_000
const limits = { MAX_USER_BYTES: `${maxBytes}` }

interface Twin {
  /** Their records say whose they are, and are as long for both. */
  name: 'ada' | 'bob'
  user: TestUser
}

/** Resolves to what the user is told. */
type Step = (twin: Twin) => Promise<unknown>

const content = ({ name }: Twin, text: string) => ({
  encrypted_data: `${text} of ${name}`,
  data_hash: `hash of ${text.slice(0, 9)}`,
})
const by = (device: string) => ({ 'x-device-id': device })
const create = (id: string, text: string): Step =>
  send('POST', '/api/v1/bookmarks', (twin) => ({ id, ...content(twin, text) }))
const update = (id: string, text: string): Step =>
  send('PUT', `/api/v1/bookmarks/${id}`, (twin) => content(twin, text), 'phone')
const remove = (path: string): Step => send('DELETE', path)

function send(method: string, path: string, bodyOf?: (twin: Twin) => object, device = 'laptop'): Step {
  return (twin) => ask(twin, method, path, { headers: by(device), ...(bodyOf && { body: bodyOf(twin) }) })
}

function push(id: string, at: number, text: string, device: string, entity_type = 'bookmark'): Step {
  const changesOf = (twin: Twin) => ({ changes: [change(twin, id, at, text, device, entity_type)] })
  return send('POST', '/api/v1/sync/push', changesOf, device)
}

function change(twin: Twin, entity_id: string, at: number, text: string, device_id: string, entity_type = 'bookmark') {
  const made = { id: `${entity_id} at ${at}`, operation: 'update', timestamp: start + at, device_id }
  return { entity_type, entity_id, ...made, ...content(twin, text) }
}

const pull = (device: string): Step => send('POST', '/api/v1/sync/pull', () => ({ since: 0 }), device)

const first = {
  'they create': create('x', 'first'),
  'another, with the same content': create('y', 'first'),
  'an edit': update('x', 'second'),
  'an edit without having seen that one': push('x', 9_000, 'unseen', 'tablet'),
  'an edit by a device that pulls later': push('x', 9_100, 'unseen, too', 'screen'),
  'a change that loses': push('x', 10, 'lost', 'watch'),
  'another one that loses': push('x', 20, 'lost, too', 'laptop'),
  'another type with the same id': push('x', 9_001, 'group', 'laptop', 'group'),
  'a deletion': remove('/api/v1/bookmarks/y'),
  'an import': send('POST', '/api/v1/sync/import', (twin) => ({
    bookmarks: ['w', 'z'].map((id) => ({ id, ...content(twin, 'third') })),
  })),
  'another deletion': remove('/api/v1/bookmarks/w'),
  'a pull': pull('screen'),
  'a keyring': send('PUT', '/api/v1/account/keyring', ({ name }) => ({
    keyring: keyringOf(`first of ${name}`),
    revision: 1,
  })),
}

const then = {
  'a pull of a device that has lost': pull('watch'),
  'a conflict is settled': remove('/api/v1/sync/conflicts/x%20at%2020'),
  'a pull of its device': pull('laptop'),
  'a device is forgotten': remove('/api/v1/account/devices/screen'),
  'it has seen nothing any more': send('POST', '/api/v1/sync/push', (twin) => ({
    changes: [change(twin, 'x', 50_000, 'late', 'watch'), change(twin, 'z', 50_000, 'late', 'screen')],
  })),
  'a version is restored': send('POST', '/api/v1/bookmarks/x/restore', () => ({ version_id: 'x at 10' })),
  'the version before': send('POST', '/api/v1/bookmarks/x/restore'),
  'what was deleted is restored': send('POST', '/api/v1/bookmarks/y/restore'),
  'a rewind': send('POST', '/api/v1/sync/rewind', () => ({ to: start + 5_000, dry_run: false })),
  'it is deleted again': remove('/api/v1/bookmarks/y'),
  'another is purged': remove('/api/v1/trash/w'),
  'a keyring again': send('PUT', '/api/v1/account/keyring', ({ name }) => ({
    keyring: keyringOf(`second of ${name}`),
    revision: 2,
  })),
  'more versions than are kept': async (twin: Twin) => {
    for (let edit = 0; edit <= quotas.versionsOfRecord; edit++) await update('x', `${edit}`)(twin)
  },
  'more than there is room for': create('large', 'l'.repeat(maxBytes)),
  'the session is refreshed': async ({ user }: Twin) =>
    (await user.call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${user.refresh}` } }))
      .status,
}

const beyondRoom = ['more than there is room for']
/** Refused where none are kept. */
const ofVersions = [
  'a conflict is settled',
  'a version is restored',
  'the version before',
  'what was deleted is restored',
  'it is deleted again',
]

for (const env of [limits, { ...limits, KEEP_VERSIONS_DAYS: '0' }]) {
  t.test(`Twins do not notice each other, with ${JSON.stringify(env)}`, async (t) => {
    const app = await buildApp(t, env)
    app.setClock(start)
    const ada: Twin = { name: 'ada', user: await app.user('ada') }
    const bob: Twin = { name: 'bob', user: await app.user('bob') }

    async function run(steps: Record<string, Step>, twin: Twin): Promise<Record<string, unknown[]>> {
      const begin = steps === first ? start : start + 20_000
      const seen: Record<string, unknown[]> = {}
      for (const [index, [name, step]] of Object.entries(steps).entries()) {
        app.setClock(begin + 1_000 * index)
        seen[name] = [await step(twin), await look(twin)]
      }
      return seen
    }

    const alone = await run(first, ada)
    const hers = await look(ada)
    t.same(await run(first, bob), alone, 'one who comes later sees the same')
    t.same(await look(ada), hers, 'and she notices nothing')
    const his = await run(then, bob)
    app.setClock(start + 12_000)
    t.same(await look(ada), hers, 'nor does she of what he does then')
    t.same(
      refusedOf({ ...alone, ...his }),
      env === limits ? beyondRoom : [...ofVersions, ...beyondRoom],
      'all else is done',
    )
    const left = await look(bob)
    t.same(await run(then, ada), his, 'and it is there for her to do')
    app.setClock(start + 12_000)
    t.same(await look(bob), left, 'nor does he')
  })
}

/** The steps that were refused: of what is not there, nobody could notice anything. */
function refusedOf(seen: Record<string, unknown[]>): string[] {
  const isRefused = ([answer]: unknown[]) => ((answer as { status?: number } | undefined)?.status ?? 0) >= 400
  return Object.keys(seen).filter((name) => isRefused(seen[name] ?? []))
}

/** All that the user can read. */
async function look(twin: Twin): Promise<unknown[]> {
  const seen: unknown[] = []
  for (const path of [
    ...['bookmarks', 'bookmarks/x', 'bookmarks/x/versions', 'bookmarks/y/versions', 'trash', 'sync/conflicts'],
    ...['sync/status', 'account', 'account/devices', 'account/sessions', 'account/keyring'],
  ])
    seen.push(await ask(twin, 'GET', `/api/v1/${path}`, { headers: by('tablet') }))
  seen.push(await ask(twin, 'POST', '/api/v1/sync/pull', { body: { since: 0 } }))
  return seen
}

/** The response without what may differ: the user, and the ids that the service makes up. */
async function ask({ name, user }: Twin, method: string, path: string, request: object): Promise<unknown> {
  const { status, body } = await user.call(method, path, request)
  const text = JSON.stringify(body)
    .replaceAll(user.userId, 'me')
    .replaceAll(new RegExp(`\\b${name}\\b`, 'g'), 'me')
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'made up')
  return { status, body: JSON.parse(text) }
}
