import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import t from 'tap'
import asyncapi from '../generated/asyncapi.json' with { type: 'json' }
import * as errors from '../generated/errors.ts'
import openapi from '../generated/openapi.json' with { type: 'json' }
import packageJson from '../package.json' with { type: 'json' }
import { pick } from './support/pick.ts'

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

const root = new URL('../', import.meta.url)
const samples = [null, {}, [], '', 'x', 0, -1, 1.5, true, 'é', '\u0000']

t.test('Each schema means the same under draft-07 (Fastify) and 2020-12 (OpenAPI 3.1)', async (t) => {
  const validators = [new Ajv({ strict: false }), new Ajv2020({ strict: false })]
  for (const ajv of validators) {
    addFormats(ajv)
    ajv.addSchema(openapi, 'openapi.json').addSchema(asyncapi, 'asyncapi.json')
  }
  const schemas = [
    ...Object.entries(openapi.components.schemas).map(([name, schema]) => ['openapi.json', name, schema] as const),
    ...Object.entries(asyncapi.components.schemas).map(([name, schema]) => ['asyncapi.json', name, schema] as const),
  ]
  const differing = schemas.flatMap(([document, name, schema]) => {
    const [draft7, draft2020] = validators.map((ajv) =>
      ajv.compile({ $ref: `${document}#/components/schemas/${name}` }),
    )
    const own: unknown[] = ('examples' in schema && schema.examples) || []
    const found = [...own, ...samples].filter(
      (sample) => draft7?.(structuredClone(sample)) !== draft2020?.(structuredClone(sample)),
    )
    return found.map((sample) => `${document} ${name}: ${JSON.stringify(sample)}`)
  })
  t.same(differing, [], `${schemas.length} schemas`)
})

t.test('Both contracts and the package have one version', async (t) => {
  t.same([openapi.info.version, asyncapi.info.version], [packageJson.version, packageJson.version])
})

t.test("The import's request lists bookmarks, so that a generated client can send all their fields", async (t) => {
  const { bookmarks } = openapi.components.schemas.ImportRequest.properties
  t.match(bookmarks, { items: { $ref: '#/components/schemas/ImportBookmark' }, 'x-strict-fields': ['id'] })
})

t.test('A generated client sends the session when it signs out, and may sign out without one', async (t) => {
  const sessions = [{ sessionCookie: [] }, { sessionToken: [] }, { refreshCookie: [] }]
  const any = [...sessions, ...sessions.map((session) => ({ ...session, userId: [] })), {}]
  t.same(openapi.paths['/api/v1/auth/logout'].post.security, any)
})

t.test('No schema keyword promises that texts, which are opaque to the service, can be decoded', async (t) => {
  t.notMatch(JSON.stringify([openapi, asyncapi]), /contentEncoding|contentMediaType|"format":"byte"/)
})

t.test("The realtime document's examples agree with themselves and with each other", async (t) => {
  const { sync, change, error } = asyncapi.components.messages
  const events = sync.examples.map(({ payload }) => payload.event)
  const disagreeing = events.filter((event) => {
    const { operation, conflict_resolved, resolution_strategy } = event
    const isOverwriting = 'overwritten' in event
    const hasData = 'encrypted_data' in event
    return (
      conflict_resolved !== (resolution_strategy !== null) ||
      isOverwriting !== (resolution_strategy === 'last_write_wins') ||
      hasData === (operation === 'delete')
    )
  })
  t.same(disagreeing, [])
  const [{ payload: sent }] = change.examples as [(typeof change.examples)[0]]
  const [{ payload: refused }] = error.examples as [(typeof error.examples)[0]]
  t.ok(refused.error.startsWith(`${sent.event.entity_type} ${sent.event.entity_id}: `))
  t.ok(Number(/of (\d+) by/.exec(refused.error)?.[1]) > sent.event.timestamp)
})

t.test("The contract's examples of a request and of its response belong together", async (t) => {
  const [pushes, outcomes] = shown(openapi.paths['/api/v1/sync/push'].post)
  for (const name of ['accepted', 'conflict'] as const) {
    const { changes } = pushes[name].value
    const { accepted, accepted_ids, conflicts } = outcomes[name].value
    const lost = conflicts.map(({ event_id: id, entity_id }) => ({ id, entity_id }))
    t.equal(accepted, accepted_ids.length, name)
    t.match(changes, [...accepted_ids.map((id) => ({ id })), ...lost], name)
    t.equal(changes.length, accepted + lost.length, name)
  }
  const [pulls, pages] = shown(openapi.paths['/api/v1/sync/pull'].post)
  for (const name of ['first', 'nothingNew'] as const) {
    const { changes, last_sync_timestamp } = pages[name].value
    t.equal(last_sync_timestamp > pulls[name].value.since, changes.length > 0, name)
  }
  const [imports, reports] = shown(openapi.paths['/api/v1/sync/import'].post)
  const { imported, imported_ids, errors } = reports.partly.value
  t.equal(imported, imported_ids.length)
  t.same([...imported_ids, ...pick(errors, 'id')], pick(imports.partly.value.bookmarks, 'id'))
  const { get: list, post: create } = openapi.paths['/api/v1/exports']
  const { id, created_at } = create.responses['201'].content['application/json'].examples.processing.value
  const { exports } = list.responses['200'].content['application/json'].examples.completed.value
  t.match(exports, [
    { id, created_at, status: 'completed', size_bytes: Number, bookmark_count: Number, expires_at: Number },
  ])
})

t.test("Each error text is once in the contract, and not in the service's sources", async (t) => {
  const texts = Object.values(errors).map(([, text]) => text)
  const contract = readFileSync(new URL('openapi.yaml', root), 'utf8')
  const inContract = texts.filter((text) => contract.split(`{ error: ${text} }`).length !== 2)
  const files = globSync(['src/**/*.ts', 'redocly.yaml', 'scripts/contract/**/*.ts'], { cwd: fileURLToPath(root) })
  const elsewhere = files
    .filter((file) => !/^src\/(client|extension|web)\//.test(file))
    .flatMap((file) => {
      const source = readFileSync(new URL(file, root), 'utf8')
      return texts.filter((text) => source.includes(`'${text}'`)).map((text) => `${file}: ${text}`)
    })
  t.same([inContract, elsewhere], [[], []], `${texts.length} texts`)
})

interface Shown<Sent, Answered> {
  requestBody: { content: { 'application/json': { examples: Sent } } }
  responses: { '200': { content: { 'application/json': { examples: Answered } } } }
}

/** The examples of an operation's request and of its response. */
function shown<Sent, Answered>({ requestBody, responses }: Shown<Sent, Answered>): [Sent, Answered] {
  return [requestBody.content['application/json'].examples, responses['200'].content['application/json'].examples]
}
