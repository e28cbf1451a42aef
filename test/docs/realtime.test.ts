import t from 'tap'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import { closeCodes } from '../../generated/channel.ts'
import { realtimePage } from '../../scripts/docs/realtime.ts'

const page = realtimePage('new WebSocket(address)')
const sectionOf = (name: string) =>
  page.split(/^(?=##)/m).find((section) => /^.*/.exec(section)?.[0].includes(name)) ?? ''

t.test('The page of the realtime channel has every message, with its fields and an example', async (t) => {
  const { sendEvents, receiveChanges } = asyncapi.operations
  const idsOf = (side: string, { messages }: typeof sendEvents) =>
    messages.map(({ $ref }) => `${side}-${$ref.split('/').at(-1)}`)
  const ids = [...idsOf('server', sendEvents), ...idsOf('client', receiveChanges)]
  t.ok(ids.length > 7, `${ids.length} messages`)
  t.same(
    ids.filter((id) => !/^\| `type` .*^```json$/ms.test(sectionOf(`{#${id}}`))),
    [],
  )
})

t.test('The page lists required fields, and the fields of nested objects', async (t) => {
  const required = [...page.matchAll(/^\| `([^`]+)` \*\*([^*]+)\*\*/gm)]
  const named = new Map(required.map(([, name, when]) => [name, when]))
  t.same(
    ['event.entity_id', 'event.encrypted_data', 'event.overwritten[].device_id', 'stamp', 'event.base'].map((name) =>
      named.get(name),
    ),
    ['required', 'required to create or update', 'required', 'required', undefined],
  )
  t.match(page, '\n| `event.base` | ')
})

t.test('The page shows how to connect, and what to do about every close code', async (t) => {
  t.match(sectionOf('Connect'), 'new WebSocket')
  t.same(
    Object.values(closeCodes).filter((code) => !sectionOf('Close codes').includes(`\n| ${code} | `)),
    [],
  )
})
