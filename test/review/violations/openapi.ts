import openapi from '../../../generated/openapi.json' with { type: 'json' }
import { field, schema, text, type Violation } from './violation.ts'

const health = ['paths', '/api/v1/health', 'get']
const session = ['paths', '/api/v1/auth/session', 'get']
const list = ['paths', '/api/v1/bookmarks', 'get']
const json = ['content', 'application/json']

export const openapiViolations: Violation[] = [
  {
    name: 'an operationId in snake_case',
    put: [['paths', '/api/v1/auth/logout', 'post', 'operationId'], 'log_out'],
    rule: 'rule/operation-id-in-lower-camel-case',
  },
  {
    name: 'an operationId twice',
    put: [[...health, 'operationId'], 'listBookmarks'],
    rule: 'operation-operationId-unique',
    at: '#/paths/~1api~1v1~1health/get/listBookmarks',
  },
  {
    name: 'a secured operation without 401',
    put: [[...list, 'responses', '401']],
    rule: 'house/secured-answers',
    at: '#/paths/~1api~1v1~1bookmarks/get',
  },
  {
    name: 'a secured operation without 429',
    put: [['paths', '/api/v1/exports', 'get', 'responses', '429']],
    rule: 'house/secured-answers',
    at: '#/paths/~1api~1v1~1exports/get',
  },
  {
    name: 'an error of another shape',
    put: [[...health, 'responses', '500'], answer(ref('NoSession'))],
    rule: 'house/error-answers',
  },
  {
    name: 'an error that is no JSON',
    put: [
      [...health, 'responses', '503'],
      { description: 'Out of order.', content: { 'text/plain': { schema: text } } },
    ],
    rule: 'house/error-answers',
  },
  {
    name: 'an error without a body',
    put: [[...session, 'responses', '503'], { description: 'Out of order.' }],
    rule: 'house/error-answers',
  },
  {
    name: 'an error without its code',
    put: [['paths', '/api/v1/account/devices/{id}', 'delete', 'responses', '404', 'headers', 'X-Error-Code']],
    rule: 'house/error-answers',
    at: '#/paths/~1api~1v1~1account~1devices~1{id}/delete/responses/404',
  },
  {
    name: 'a time without a unit, by its name',
    put: [field('Bookmark', 'created_at', 'description'), 'Never moves.'],
    rule: 'house/time-unit',
    at: '#/components/schemas/Bookmark/properties/created_at',
  },
  {
    name: 'a time without a unit, by what is said of it',
    put: [field('SyncStatus', 'conflict_count', 'description'), 'When the last conflict was.'],
    rule: 'house/time-unit',
    at: '#/components/schemas/SyncStatus/properties/conflict_count',
  },
  {
    name: 'a time without a unit in a shared type',
    put: [schema('Created'), { ...openapi.components.schemas.Milliseconds, description: 'Unix time.' }],
    rule: 'house/time-unit',
  },
  {
    name: 'a parameter with a time without a unit',
    put: [['paths', '/api/v1/sync/realtime', 'get', 'parameters', 5, 'description'], 'A stamp to replay from.'],
    rule: 'house/time-unit',
    at: '#/paths/~1api~1v1~1sync~1realtime/get/parameters/5',
  },
  {
    name: 'a header with a time without a unit',
    put: [['components', 'headers', 'Retry-After', 'description'], 'How long to wait.'],
    rule: 'house/time-unit',
    at: '#/components/headers/Retry-After',
  },
  {
    name: 'a type with the name of a class of generated clients',
    put: [schema('Success'), openapi.components.schemas.Done],
    rule: 'house/free-names',
  },
  {
    name: 'a type with the name of a Go function',
    put: [schema('NewExport'), openapi.components.schemas.Done],
    rule: 'house/free-names',
  },
  {
    name: 'an enum with a constant that another one has in Go',
    put: [schema('VersionReason', 'x-enum-varnames')],
    rule: 'house/free-names',
    at: '#/components/schemas/Resolution',
  },
  {
    name: 'a pattern that means something else in Rust',
    put: [['components', 'parameters', 'DeviceId', 'schema', 'pattern'], '^[ --/-~]+$'],
    rule: 'house/portable-patterns',
  },
  {
    name: 'a pattern that JavaScript refuses with the flag v',
    put: [field('ExportKey', 'key', 'pattern'), '^[A-Za-z0-9+/]+=$'],
    rule: 'house/portable-patterns',
  },
  {
    name: 'a pattern that takes more digits in Python',
    put: [['components', 'parameters', 'After', 'schema', 'pattern'], '^\\d{1,16}$'],
    rule: 'house/portable-patterns',
  },
  {
    name: 'a boolean with one value',
    put: [field('Session', 'authenticated', 'const'), true],
    rule: 'house/plain-booleans',
    at: '#/components/schemas/Session/properties/authenticated',
  },
  { name: 'a title with a comma', put: [['info', 'title'], 'Bookmarks, encrypted'], rule: 'rule/title-is-words' },
  {
    name: 'a whole number without a width',
    put: [field('Bookmark', 'updated_at', 'format')],
    rule: 'house/integer-width',
    at: '#/components/schemas/Bookmark/properties/updated_at',
  },
  {
    name: 'a time in 32 bits',
    put: [field('Version', 'settled_at', 'format'), 'int32'],
    rule: 'house/integer-width',
  },
  {
    name: 'a number in 32 bits whose maximum needs more',
    put: [field('Keyring', 'revision', 'format'), 'int32'],
    rule: 'house/integer-width',
  },
  {
    name: 'a string of a request without a maximum',
    put: [schema('EncryptedData', 'maxLength')],
    rule: 'house/request-maximum',
    at: '#/components/schemas/EncryptedData',
  },
  {
    name: 'an array of a request without a maximum',
    put: [field('PushRequest', 'changes', 'maxItems')],
    rule: 'house/request-maximum',
    at: '#/components/schemas/PushRequest/properties/changes',
  },
  {
    name: 'a parameter without a maximum',
    put: [['components', 'parameters', 'DeviceId', 'schema', 'maxLength']],
    rule: 'house/request-maximum',
    at: '#/components/parameters/DeviceId/schema',
  },
  { name: 'an operation that is not described', put: [[...health, 'description']], rule: 'operation-description' },
  { name: 'an operation without a summary', put: [[...health, 'summary']], rule: 'operation-summary' },
  {
    name: 'a parameter that is not described',
    put: [['components', 'parameters', 'BookmarkId', 'description']],
    rule: 'parameter-description',
    at: '#/components/parameters/BookmarkId',
  },
  {
    name: 'a field that is not described',
    put: [field('Export', 'size_bytes', 'description')],
    rule: 'house/described',
    at: '#/components/schemas/Export/properties/size_bytes',
  },
  {
    name: 'a type that is not described',
    put: [schema('Health', 'description'), ' '],
    rule: 'house/described',
    at: '#/components/schemas/Health',
  },
  {
    name: 'a body that is not described',
    put: [['paths', '/api/v1/bookmarks', 'post', 'requestBody', 'description']],
    rule: 'house/described',
    at: '#/paths/~1api~1v1~1bookmarks/post/requestBody',
  },
  {
    name: 'a field without an example, in a type that no operation carries',
    put: [field('PlaintextBookmark', 'title', 'examples')],
    rule: 'scalar-property-missing-example',
    at: '#/components/schemas/PlaintextBookmark/properties/title',
  },
  {
    name: 'a parameter without an example',
    put: [[...list, 'parameters', 0, 'schema', 'examples']],
    rule: 'house/examples',
    at: '#/paths/~1api~1v1~1bookmarks/get/parameters/0/schema',
  },
  {
    name: 'a header without an example',
    put: [['components', 'headers', 'ETag', 'schema', 'examples']],
    rule: 'house/examples',
    at: '#/components/headers/ETag/schema',
  },
  {
    name: 'a list of texts without an example',
    put: [field('ImportResponse', 'imported_ids', 'items', 'examples')],
    rule: 'house/examples',
    at: '#/components/schemas/ImportResponse/properties/imported_ids/items',
  },
  {
    name: 'an example that is not valid',
    put: [field('PlaintextBookmark', 'url', 'examples'), [7]],
    rule: 'no-invalid-schema-examples',
    at: '#/components/schemas/PlaintextBookmark/properties/url/examples/0',
  },
  {
    name: 'examples of fields that are not valid together',
    put: [schema('Health', 'not'), { properties: { status: { const: 'healthy' } } }],
    rule: 'house/examples',
    at: '#/paths/~1api~1v1~1health/get/responses/200/content/application~1json/schema',
  },
  {
    name: 'a component that is only a $ref',
    put: [schema('DeviceName'), ref('Id')],
    rule: 'house/no-bare-ref-component',
  },
  {
    name: 'a sibling of a $ref',
    put: [field('BookmarkToCreate', 'id', 'description'), 'Its id.'],
    rule: 'house/no-ref-siblings',
  },
  {
    name: 'a header in upper case',
    put: [['components', 'parameters', 'DeviceId', 'name'], 'X-Device-ID'],
    rule: 'house/lower-case-headers',
  },
  {
    name: 'an error with a schema of its own',
    put: [[...list, 'responses', '400'], answer({ title: 'BadRequest', ...openapi.components.schemas.Error })],
    rule: 'house/error-answers',
  },
  {
    name: 'an error without a text',
    put: [[...list, 'responses', '500'], answer(ref('Error'))],
    rule: 'house/error-texts',
  },
  {
    name: 'an error text of another status',
    put: [
      ['paths', '/api/v1/account/keyring', 'get', 'responses', '404', ...json, 'examples', 'Gone'],
      example('RequestTimeout'),
    ],
    rule: 'house/error-texts',
  },
  {
    name: 'the error of a malformed body, which is not listed',
    put: [['paths', '/api/v1/account/keyring', 'put', 'x-invalid'], 'Invalid keyring'],
    rule: 'house/error-texts',
  },
  {
    name: 'an operation that writes, and that nobody has placed by what it takes to undo it',
    put: [['paths', '/api/v1/account/devices/{id}', 'delete', 'x-login']],
    rule: 'house/placed-by-login',
    at: '#/paths/~1api~1v1~1account~1devices~1{id}/delete',
  },
  {
    name: 'an operation that takes a young login for no reason',
    put: [['paths', '/api/v1/account', 'delete', 'x-login', 'because'], ''],
    rule: 'house/placed-by-login',
    at: '#/paths/~1api~1v1~1account/delete',
  },
  {
    name: 'an operation that takes a young login, and does not list what an old one is answered',
    put: [
      ['paths', '/api/v1/account/sessions', 'delete', 'responses', '403'],
      { $ref: '#/components/responses/ForbiddenOrigin' },
    ],
    rule: 'house/placed-by-login',
    at: '#/paths/~1api~1v1~1account~1sessions/delete',
  },
  {
    name: 'an error that nobody returns',
    put: [['components', 'examples', 'Teapot'], { ...openapi.components.examples.NotFound, 'x-status': 418 }],
    rule: 'house/error-texts',
  },
]

function ref(type: string): object {
  return { $ref: `#/components/schemas/${type}` }
}

function answer(schema: object): object {
  const headers = { 'X-Error-Code': { $ref: '#/components/headers/X-Error-Code' } }
  return { description: 'Out of order.', headers, content: { 'application/json': { schema } } }
}

function example(code: string): object {
  return { $ref: `#/components/examples/${code}` }
}
