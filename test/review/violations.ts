import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }

/** One fault in a copy of a contract. */
interface Fault {
  steps: Steps
  /** The value to put at `steps`. Undefined removes what is there. */
  value: unknown
  /** The place that the lint must report. */
  at: Steps
}

export interface Violation extends Fault {
  name: string
  rule: string
}

export type Steps = (string | number)[]

const put = (steps: Steps, value?: unknown, at = steps): Fault => ({ steps, value, at })
/** A fault that the lint reports at the surrounding part, which lacks a field or has a wrong one. */
const within = (at: Steps, name: string | number, value?: unknown) => put([...at, name], value, at)
const schema = (name: string) => ['components', 'schemas', name]
const field = (type: string, name: string) => [...schema(type), 'properties', name]

const text = { type: 'string', maxLength: 64, description: 'A sentence.', examples: ['Out of order'] }
const ref = (type: string) => ({ $ref: `#/components/schemas/${type}` })
const headers = { 'X-Error-Code': { $ref: '#/components/headers/X-Error-Code' } }
const answer = (schema: object) => ({
  description: 'Out of order.',
  headers,
  content: { 'application/json': { schema } },
})

const paths = (path: string, ...steps: Steps) => ['paths', `/api/v1/${path}`, ...steps]
const health = paths('health', 'get')
const list = paths('bookmarks', 'get')
const exportList = paths('exports', 'get')
const forget = paths('account/devices/{id}', 'delete')
const deletion = paths('account', 'delete')
const signOut = paths('account/sessions', 'delete')
const json = ['content', 'application/json']
const deviceId = ['components', 'parameters', 'DeviceId', 'schema']
const { Done, Error: error, Milliseconds } = openapi.components.schemas

export const openapiViolations = listed({
  'rule/operation-id-in-lower-camel-case': {
    'an operationId in snake_case': put(paths('auth/logout', 'post', 'operationId'), 'log_out'),
  },
  'rule/title-is-words': { 'a title with a comma': put(['info', 'title'], 'Bookmarks, encrypted') },
  'operation-operationId-unique': {
    'an operationId twice': put([...health, 'operationId'], 'listBookmarks', [...health, 'listBookmarks']),
  },
  'operation-description': { 'an operation that is not described': put([...health, 'description']) },
  'operation-summary': { 'an operation without a summary': put([...health, 'summary']) },
  'parameter-description': {
    'a parameter that is not described': within(['components', 'parameters', 'BookmarkId'], 'description'),
  },
  'scalar-property-missing-example': {
    'a field without an example, in an unused type': within(field('PlaintextBookmark', 'title'), 'examples'),
  },
  'no-invalid-schema-examples': {
    'an example that is not valid': put(
      [...field('PlaintextBookmark', 'url'), 'examples'],
      [7],
      [...field('PlaintextBookmark', 'url'), 'examples', 0],
    ),
  },
  'house/secured-answers': {
    'a secured operation without 401': put([...list, 'responses', '401'], undefined, list),
    'a secured operation without 429': put([...exportList, 'responses', '429'], undefined, exportList),
  },
  'house/named-user': {
    'an operation whose session cannot name its user': put(
      paths('auth/refresh', 'post', 'security'),
      [{ refreshCookie: [] }],
      paths('auth/refresh', 'post'),
    ),
    "an operation that does not list the error for another user's session": put(
      [...list, 'responses', '403'],
      undefined,
      list,
    ),
  },
  'house/error-answers': {
    'an error of another shape': put([...health, 'responses', '500'], answer(ref('NoSession'))),
    'an error that is not JSON': put([...health, 'responses', '503'], {
      description: 'Out of order.',
      content: { 'text/plain': { schema: text } },
    }),
    'an error without a body': put(paths('auth/session', 'get', 'responses', '503'), { description: 'Out of order.' }),
    'an error without its code': put([...forget, 'responses', '404', 'headers', 'X-Error-Code'], undefined, [
      ...forget,
      'responses',
      '404',
    ]),
    'an error with a separate schema': put([...list, 'responses', '400'], answer({ title: 'BadRequest', ...error })),
  },
  'house/error-texts': {
    'an error without a text': put([...list, 'responses', '500'], answer(ref('Error'))),
    'an error text of another status': put(
      paths('account/keyring', 'get', 'responses', '404', ...json, 'examples', 'Gone'),
      { $ref: '#/components/examples/RequestTimeout' },
    ),
    'an operation that does not list the error of a malformed body': put(
      paths('account/keyring', 'put', 'x-invalid'),
      'Invalid keyring',
    ),
    'an error that no operation returns': put(['components', 'examples', 'Teapot'], {
      ...openapi.components.examples.NotFound,
      'x-status': 418,
    }),
  },
  'house/recent-sign-in': {
    'a writing operation that does not say whether it requires a recent sign-in': within(forget, 'x-recent-sign-in'),
    'a recent sign-in required without reason': put([...deletion, 'x-recent-sign-in', 'because'], '', deletion),
    'an operation that requires a recent sign-in, and does not list the refusal of an older one': put(
      [...signOut, 'responses', '403'],
      { $ref: '#/components/responses/ForbiddenOrigin' },
      signOut,
    ),
  },
  'house/priced': {
    'an operation without a cost': within(paths('account/keyring', 'get'), 'x-cost'),
    'a list in a body that costs nothing': within(paths('sync/import', 'post'), 'x-cost', {
      request: 1,
    }),
    'a cost by a field that the body does not have': within(paths('sync/pull', 'post'), 'x-cost', {
      request: 1,
      unless: 'cursor',
      more: 40,
    }),
    'a cost by elements that the body does not have': within(paths('sync/rewind', 'post'), 'x-cost', {
      request: 1,
      per: 'changes',
      every: 50,
    }),
  },
  'house/time-unit': {
    'a time without a unit, found by its name': within(field('Bookmark', 'created_at'), 'description', 'Never moves.'),
    'a time without a unit, found by its description': within(
      field('SyncStatus', 'conflict_count'),
      'description',
      'When the last conflict was.',
    ),
    'a time without a unit in a shared type': put(schema('Created'), { ...Milliseconds, description: 'Unix time.' }),
    'a parameter with a time without a unit': within(
      paths('sync/realtime', 'get', 'parameters', 5),
      'description',
      'A stamp to replay from.',
    ),
    'a header with a time without a unit': within(
      ['components', 'headers', 'Retry-After'],
      'description',
      'How long to wait.',
    ),
  },
  'house/free-names': {
    'a type with the name of a class in generated clients': put(schema('Success'), Done),
    'a type with the name of a Go function': put(schema('NewExport'), Done),
    'an enum with a constant that another enum has in Go': put(
      [...schema('VersionReason'), 'x-enum-varnames'],
      undefined,
      schema('Resolution'),
    ),
  },
  'house/portable-patterns': {
    'a pattern with another meaning in Rust': put([...deviceId, 'pattern'], '^[ --/-~]+$'),
    'a pattern that JavaScript refuses with the flag v': put(
      [...field('ExportKey', 'key'), 'pattern'],
      '^[A-Za-z0-9+/]+=$',
    ),
    'a pattern that accepts more digits in Python': put(
      ['components', 'parameters', 'After', 'schema', 'pattern'],
      '^\\d{1,16}$',
    ),
  },
  'house/plain-booleans': { 'a boolean with one value': within(field('Session', 'authenticated'), 'const', true) },
  'house/named-cases': {
    'a condition with a case without a name': within([...schema('Change')], 'else'),
    'a condition that has no name': put(
      [...schema('KeyringContent'), 'if', 'x-displayName'],
      undefined,
      schema('KeyringContent'),
    ),
  },
  'house/integer-width': {
    'a whole number without a width': within(field('Bookmark', 'updated_at'), 'format'),
    'a time in 32 bits': put([...field('Version', 'settled_at'), 'format'], 'int32'),
    'a number in 32 bits whose maximum needs more': put([...field('Keyring', 'revision'), 'format'], 'int32'),
  },
  'house/request-maximum': {
    'a string of a request without a maximum': within(schema('EncryptedData'), 'maxLength'),
    'an array of a request without a maximum': within(field('PushRequest', 'changes'), 'maxItems'),
    'a parameter without a maximum': within(deviceId, 'maxLength'),
  },
  'house/described': {
    'a field that is not described': within(field('Export', 'size_bytes'), 'description'),
    'a type that is not described': within(schema('Health'), 'description', ' '),
    'a body that is not described': within(paths('bookmarks', 'post', 'requestBody'), 'description'),
  },
  'house/examples': {
    'a parameter without an example': within([...list, 'parameters', 0, 'schema'], 'examples'),
    'a header without an example': within(['components', 'headers', 'ETag', 'schema'], 'examples'),
    'a list of texts without an example': within([...field('ImportResponse', 'imported_ids'), 'items'], 'examples'),
    'a request without a complete example': put(
      paths('account/keyring', 'put', 'requestBody', ...json, 'examples'),
      undefined,
      paths('account/keyring', 'put', 'requestBody'),
    ),
    'a success without a complete example': put([...list, 'responses', '200', ...json, 'examples'], undefined, [
      ...list,
      'responses',
      '200',
    ]),
    'examples of fields that are not valid together': put(
      [...schema('Health'), 'not'],
      { properties: { timestamp: { const: openapi.components.schemas.Health.properties.timestamp.examples[0] } } },
      [...health, 'responses', '200', ...json, 'schema'],
    ),
  },
  'house/no-bare-ref-component': { 'a component that is only a $ref': put(schema('AnotherId'), ref('Id')) },
  'house/no-ref-siblings': {
    'a sibling of a $ref': put([...field('BookmarkToCreate', 'id'), 'description'], 'Its id.'),
  },
  'house/lower-case-headers': {
    'a header in upper case': put(['components', 'parameters', 'DeviceId', 'name'], 'X-Device-ID'),
  },
})

const upgrade = ['channels', 'realtime', 'bindings', 'ws']
const query = (name: string) => [...upgrade, 'query', 'properties', name]
const message = (name: string) => ['components', 'messages', name]

export const asyncapiViolations = listed({
  'rule/operations-in-lower-camel-case': {
    'an operation in snake_case': put(['operations', 'send_events'], asyncapi.operations.sendEvents),
  },
  'rule/operations-have-a-title-and-a-summary': {
    'an operation without a summary': within(['operations', 'sendEvents'], 'summary'),
  },
  'rule/messages-have-a-title-and-a-summary': { 'a message without a title': within(message('pong'), 'title') },
  'rule/title-is-words': { 'a title with a comma': put(['info', 'title'], 'Bookmarks, live') },
  'spec-ref-siblings': { 'a sibling of a $ref': put([...field('SyncMessage', 'event'), 'description'], 'The change.') },
  'house/described': {
    'a channel that is not described': within(['channels', 'realtime'], 'description'),
    'a field that is not described': within(field('ConnectedMessage', 'deviceId'), 'description'),
  },
  'house/examples': {
    'a field without an example': within(field('ErrorMessage', 'error'), 'examples'),
    'an example that is not valid': put(
      [...field('ConnectedMessage', 'deviceId'), 'examples'],
      [7],
      [...message('connected'), 'payload'],
    ),
    'a message without an example': within(message('ping'), 'examples', []),
    'an example of a message that is not valid': put(
      [...message('change'), 'examples', 0, 'payload', 'event', 'encrypted_data'],
      undefined,
      [...message('change'), 'examples', 0],
    ),
    'a query parameter of the upgrade without an example': within(query('since'), 'examples'),
  },
  'house/time-unit': {
    'a time without a unit': within(field('SyncMessage', 'stamp'), 'description', 'To go on from.'),
  },
  'house/titled-schemas': {
    'a type without a title': within(schema('SyncEvent'), 'title'),
    'a list of values without a title': within(field('PingMessage', 'type'), 'title'),
  },
  'house/integer-width': {
    'a whole number without a width': within(field('ConnectedMessage', 'timestamp'), 'format'),
    'a parameter of the upgrade without a width': within(query('since'), 'format'),
  },
  'house/request-maximum': {
    'a string that clients send without a maximum': within(schema('Id'), 'maxLength'),
    'a query parameter of the upgrade without a maximum': within(query('device_id'), 'maxLength'),
  },
  'house/lower-case-headers': { 'a header in upper case': put([...upgrade, 'headers', 'properties', 'X-Trace'], text) },
  'house/no-bare-ref-component': {
    'a component that is only a $ref': put(message('keepAlive'), { $ref: '#/components/messages/ping' }),
  },
})

function listed(rules: Record<string, Record<string, Fault>>): Violation[] {
  return Object.entries(rules).flatMap(([rule, faults]) =>
    Object.entries(faults).map(([name, fault]) => ({ name, rule, ...fault })),
  )
}
