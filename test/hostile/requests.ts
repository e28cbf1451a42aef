import * as errors from '../../generated/errors.ts'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { type OperationId, operations } from '../../generated/operations.ts'
import type { TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { createdExport } from '../support/exports.ts'
import { keyringOf } from '../support/keyrings.ts'

const texts = new Map(Object.entries(errors).map(([code, [, text]]): [string, string] => [code, text]))

/** An operation of the contract with a request that it would accept, so that a refusal is never for lack of a body. */
export interface Operation {
  operationId: OperationId
  method: string
  /** With the id filled in. */
  path: string
  security: string
  /** Undefined if the operation takes no body. */
  body: Body | undefined
  isBodyRequired: boolean
  /** The name of the body's schema. */
  schema: string
  /** The exact 400 text for a faulty body, where the contract fixes it. */
  invalid: string | undefined
  maxBytes: number
}

export type Body = Record<string, unknown>

interface OperationObject {
  requestBody?: { required: boolean; content: { 'application/json': { schema: { $ref: string } } } }
  'x-invalid'?: string
  'x-body-limit'?: number
}

const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }

const bodies: Partial<Record<OperationId, Body>> = {
  startLogin: { returnTo: '/bookmarks', prompt: 'login' },
  createBookmark: { id: 'new', ...content },
  updateBookmark: { ...content, data_hash: 'other' },
  pullChanges: { since: 0, limit: 1000 },
  pushChanges: { changes: [change({ entity_id: 'pushed' })] },
  importBookmarks: { bookmarks: [{ id: 'imported', ...content }] },
  setExportKey: { key: Buffer.alloc(32, 9).toString('base64') },
  setKeyring: { keyring: keyringOf('another'), revision: 3 },
  renameDevice: { encrypted_name: 'bmV4dA==' },
  sendToPairing: { step: 1, message: 'bmV4dA==' },
  restoreBookmark: {},
  rewindBookmarks: { to: Number.MAX_SAFE_INTEGER, dry_run: false },
}

export interface Ids {
  bookmark: string
  export: string
  /** The id of an earlier keyring. */
  keyring: string
  /** The id of a pairing that has begun. */
  pairing: string
  /** The id of a device that has pulled. */
  device: string
  /** The owner of all of these. */
  user: string
}

/** A request for every operation of the contract. These ids fill the ids in paths. */
export function allOperations(ids: Ids): Operation[] {
  return Object.entries(operations).map(([operationId, { method, path, security }]) => {
    const paths = openapi.paths as unknown as Record<string, Record<string, OperationObject>>
    const contract = paths[path]?.[method.toLowerCase()] as OperationObject
    const id = ids[kindOf(path)]
    const body = operationId === 'reservePairing' ? { user_id: ids.user } : bodies[operationId as OperationId]
    if (Boolean(contract.requestBody) !== Boolean(body)) throw new Error(`${operationId}: give it a body here`)
    return {
      operationId: operationId as OperationId,
      method,
      path: path.replace('{id}', encodeURIComponent(id)),
      security,
      body,
      isBodyRequired: contract.requestBody?.required ?? false,
      schema: contract.requestBody?.content['application/json'].schema.$ref.split('/').at(-1) ?? '',
      invalid: texts.get(contract['x-invalid'] ?? ''),
      maxBytes: contract['x-body-limit'] ?? 1_048_576,
    }
  })
}

function kindOf(path: string): keyof Ids {
  if (path.startsWith('/api/v1/exports')) return 'export'
  if (path.includes('/devices/')) return 'device'
  return path.includes('/keyring/') ? 'keyring' : path.includes('/pairings/') ? 'pairing' : 'bookmark'
}

/** Creates two bookmarks, a deleted one, two keyrings, a pairing, a device and an export. Returns an id of each kind. */
export async function furnish(user: TestUser, name: string): Promise<Ids> {
  const content = { encrypted_data: `ciphertext-of-${name}`, data_hash: `hash-of-${name}` }
  await user.call('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  await user.call('POST', '/api/v1/bookmarks', { body: { id: `only-${name}`, ...content } })
  await user.call('PUT', `/api/v1/bookmarks/only-${name}`, { body: content })
  const gone = change({ entity_id: 'gone', operation: 'delete', device_id: `device-of-${name}` })
  await push(user, gone)
  const keyrings = ['earlier', 'keyring'].map((what) => keyringOf(`${what}-of-${name}`))
  for (const [index, keyring] of keyrings.entries())
    await user.call('PUT', '/api/v1/account/keyring', { body: { keyring, revision: index + 1 } })
  const { versions } = (await user.call('GET', '/api/v1/account/keyring/versions')).body
  const pairing = `pairing-of-${name}`
  const message = Buffer.from(`message-of-${name}`).toString('base64')
  await user.call('PUT', `/api/v1/account/pairings/${pairing}`, { body: { step: 0, message } })
  const device = `device-of-${name}`
  await user.call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': device } })
  return {
    bookmark: `only-${name}`,
    export: (await createdExport(user)).id,
    keyring: versions[0].id,
    pairing,
    device,
    user: user.userId,
  }
}
