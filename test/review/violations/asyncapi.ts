import asyncapi from '../../../generated/asyncapi.json' with { type: 'json' }
import { field, schema, text, type Violation } from './violation.ts'

const upgrade = ['channels', 'realtime', 'bindings', 'ws']

export const asyncapiViolations: Violation[] = [
  {
    name: 'an operation in snake_case',
    put: [['operations', 'send_events'], asyncapi.operations.sendEvents],
    rule: 'rule/operations-in-lower-camel-case',
  },
  {
    name: 'an operation without a summary',
    put: [['operations', 'sendEvents', 'summary']],
    rule: 'rule/operations-have-a-title-and-a-summary',
    at: '#/operations/sendEvents',
  },
  {
    name: 'a message without a title',
    put: [['components', 'messages', 'pong', 'title']],
    rule: 'rule/messages-have-a-title-and-a-summary',
    at: '#/components/messages/pong',
  },
  {
    name: 'a channel that is not described',
    put: [['channels', 'realtime', 'description']],
    rule: 'house/described',
    at: '#/channels/realtime',
  },
  {
    name: 'a field that is not described',
    put: [field('ConnectedMessage', 'deviceId', 'description')],
    rule: 'house/described',
    at: '#/components/schemas/ConnectedMessage/properties/deviceId',
  },
  {
    name: 'a field without an example',
    put: [field('ErrorMessage', 'error', 'examples')],
    rule: 'house/examples',
    at: '#/components/schemas/ErrorMessage/properties/error',
  },
  {
    name: 'an example that is not valid',
    put: [field('ConnectedMessage', 'deviceId', 'examples'), [7]],
    rule: 'house/examples',
    at: '#/components/messages/connected/payload',
  },
  {
    name: 'a message without an example',
    put: [['components', 'messages', 'ping', 'examples'], []],
    rule: 'house/examples',
    at: '#/components/messages/ping',
  },
  {
    name: 'an example of a message that is not valid',
    put: [['components', 'messages', 'change', 'examples', 0, 'payload', 'event', 'encrypted_data']],
    rule: 'house/examples',
    at: '#/components/messages/change/examples/0',
  },
  {
    name: 'a query parameter of the upgrade without an example',
    put: [[...upgrade, 'query', 'properties', 'since', 'examples']],
    rule: 'house/examples',
    at: '#/channels/realtime/bindings/ws/query/properties/since',
  },
  {
    name: 'a time without a unit',
    put: [field('SyncMessage', 'stamp', 'description'), 'To go on from.'],
    rule: 'house/time-unit',
    at: '#/components/schemas/SyncMessage/properties/stamp',
  },
  { name: 'a title with a comma', put: [['info', 'title'], 'Bookmarks, live'], rule: 'rule/title-is-words' },
  {
    name: 'a type without a title',
    put: [schema('SyncEvent', 'title')],
    rule: 'house/titled-schemas',
    at: '#/components/schemas/SyncEvent',
  },
  {
    name: 'a list of values without a title',
    put: [field('PingMessage', 'type', 'title')],
    rule: 'house/titled-schemas',
    at: '#/components/schemas/PingMessage/properties/type',
  },
  {
    name: 'a whole number without a width',
    put: [field('ConnectedMessage', 'timestamp', 'format')],
    rule: 'house/integer-width',
    at: '#/components/schemas/ConnectedMessage/properties/timestamp',
  },
  {
    name: 'a parameter of the upgrade without a width',
    put: [[...upgrade, 'query', 'properties', 'since', 'format']],
    rule: 'house/integer-width',
    at: '#/channels/realtime/bindings/ws/query/properties/since',
  },
  {
    name: 'a string that clients send without a maximum',
    put: [schema('Id', 'maxLength')],
    rule: 'house/request-maximum',
    at: '#/components/schemas/Id',
  },
  {
    name: 'a query parameter of the upgrade without a maximum',
    put: [[...upgrade, 'query', 'properties', 'device_id', 'maxLength']],
    rule: 'house/request-maximum',
    at: '#/channels/realtime/bindings/ws/query/properties/device_id',
  },
  {
    name: 'a header in upper case',
    put: [[...upgrade, 'headers', 'properties', 'X-Trace'], text],
    rule: 'house/lower-case-headers',
  },
  {
    name: 'a component that is only a $ref',
    put: [['components', 'messages', 'keepAlive'], { $ref: '#/components/messages/ping' }],
    rule: 'house/no-bare-ref-component',
  },
  {
    name: 'a sibling of a $ref',
    put: [field('SyncMessage', 'event', 'description'), 'The change.'],
    rule: 'spec-ref-siblings',
  },
]
