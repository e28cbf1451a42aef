import t from 'tap'
import fixture from '../fixtures/hostile/content-types.json' with { type: 'json' }
import { snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { assertPlainError, rawRequest, sendRaw } from './raw.ts'
import { allOperations, furnish, type Operation } from './requests.ts'

const app = await buildWithMock(t)
const ada = await app.user('ada')
const operations = allOperations(await furnish(ada, 'ada')).filter(({ body }) => body)
const origin = await app.listen()
const types: (string | undefined)[] = [undefined, ...fixture.values]

/** Each field has the wrong type, or the body itself: a handler that received this would fail, or write nonsense. */
function broken({ body }: Operation): string {
  const fields = Object.keys(body ?? {})
  return JSON.stringify(fields.length > 0 ? Object.fromEntries(fields.map((field) => [field, { not: 'valid' }])) : [])
}

t.test('A body that breaks the schema gives 400 or 415 under every content type, and nothing changed', async (t) => {
  t.equal(fixture.values.length, 35)
  const before = await snapshot(app.context)
  for (const operation of operations) {
    const { operationId, method, path, invalid } = operation
    for (const type of types) {
      const headers = type === undefined ? {} : { 'content-type': type }
      const { status, body } = await ada.call(method, path, { headers, payload: broken(operation) })
      if (status === 415 || (status === 400 && (!invalid || body.error === invalid))) continue
      t.fail(`${operationId}: ${type?.slice(0, 50)}: ${status} ${body?.error}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('The same holds for the bytes of a real request', async (t) => {
  const before = await snapshot(app.context)
  for (const operation of operations) {
    const { operationId, method, path } = operation
    const payload = broken(operation)
    for (const type of types) {
      const typed = type === undefined ? [] : [`Content-Type:${type}`]
      const headers = [`Cookie: ${ada.cookie}`, `Content-Length: ${payload.length}`, ...typed]
      const answer = await sendRaw(origin, rawRequest(`${method} ${path}`, headers, payload))
      assertPlainError(answer, operationId)
      const { status } = answer
      if (status !== 400 && status !== 415) t.fail(`${operationId}: ${type?.slice(0, 50)}: ${status}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})

t.test('Given two content types, validation uses the one that the parser used', async (t) => {
  const before = await snapshot(app.context)
  for (const operation of operations) {
    const { operationId, method, path } = operation
    const payload = broken(operation)
    for (const [first, second] of [
      ['application/json', 'text/plain'],
      ['text/plain', 'application/json'],
    ]) {
      const lengths = [`Cookie: ${ada.cookie}`, `Content-Length: ${payload.length}`]
      const headers = [...lengths, `Content-Type: ${first}`, `Content-Type: ${second}`]
      const { status } = await sendRaw(origin, rawRequest(`${method} ${path}`, headers, payload))
      t.ok(status === 400 || status === 415, `${operationId}: ${first}, ${second}: ${status}`)
    }
  }
  t.equal(await snapshot(app.context), before)
})
