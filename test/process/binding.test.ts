import fastify from 'fastify'
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import { createApp } from '../../src/service/app.ts'
import type { Context } from '../../src/service/context.ts'
import { bindOperations } from '../../src/service/http/bind.ts'
import type { HttpOperationId, Operations } from '../../src/service/operations/operation.ts'
import { buildApp } from '../support/app.ts'

type AnyOperations = Operations<HttpOperationId, Context>

/** One handler for each operation; none is ever called. */
const handlers = Object.fromEntries(
  Object.keys(operations)
    .filter((id) => id !== 'openRealtime')
    .map((id) => [id, async () => ({ status: 200 })]),
) as unknown as AnyOperations

async function bind(context: Context, handlers: object): Promise<void> {
  const app = fastify()
  try {
    await bindOperations(app, context, handlers as AnyOperations)
  } finally {
    await app.close()
  }
}

t.test('An operation without a handler, or a handler without an operation, stops the start', async (t) => {
  const { context } = await buildApp(t)
  await bind(context, handlers)
  const ids = Object.keys(handlers) as HttpOperationId[]
  const faults: unknown[] = []
  for (const id of ids) {
    const { [id]: _, ...rest } = handlers
    await bind(context, rest).catch((error) => faults.push(error.message))
  }
  t.same(
    faults,
    ids.map((id) => `the operation ${id} has no handler`),
  )
  const more = { ...handlers, mergeBookmarks: async () => ({ status: 200 }) }
  await t.rejects(bind(context, more), { message: 'the handler mergeBookmarks has no operation' })
})

t.test('A security scheme without a check stops the start', async (t) => {
  const { context } = await buildApp(t)
  const operation = operations.listExports as { security: string }
  const { security } = operation
  t.teardown(() => {
    operation.security = security
  })
  operation.security = 'bearerToken'
  await t.rejects(createApp(context), { message: 'listExports: the security scheme bearerToken has no check' })
})
