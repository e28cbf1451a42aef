/** Checks docs/languages.md: orval's mocks answer as the contract demands. Its zod schemas ignore `if` and `then`. */
import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as mocks from './api.msw'
import contract from './openapi.json'
import { PushChangesBody } from './zod'

const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(contract, 'contract')
let checked = 0
for (const [path, methods] of Object.entries(contract.paths))
  for (const [method, { operationId, responses }] of Object.entries(methods as Record<string, Operation>)) {
    const name = `get${operationId?.[0]?.toUpperCase()}${operationId?.slice(1)}ResponseMock`
    const mock = (mocks as Record<string, unknown>)[name]
    const status = Object.keys(responses ?? {}).find((one) => responses?.[one]?.content?.['application/json'])
    if (typeof mock !== 'function' || !status?.startsWith('2')) continue
    const place = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema']
    const pointer = place.map((step) => encodeURIComponent(step.replaceAll('/', '~1'))).join('/')
    const isValid = ajv.compile({ $ref: `contract#/${pointer}` })
    assert.ok(isValid(mock()), `${name}: ${ajv.errorsText(isValid.errors)}`)
    checked += 1
  }
assert.ok(checked > 25, `${checked} mocks`)

const change = { id: 'e', entity_type: 'bookmark', entity_id: 'b', operation: 'create', timestamp: 1, device_id: 'd' }
assert.ok(PushChangesBody.safeParse({ changes: [change] }).success)
assert.ok(!PushChangesBody.safeParse({ changes: [{ ...change, operation: 'none' }] }).success)

interface Operation {
  operationId?: string
  responses?: Record<string, { content?: Record<string, unknown> }>
}
