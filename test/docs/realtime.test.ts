import t from 'tap'
import { closeCodes } from '../../generated/channel.ts'
import { realtimeReference } from '../../scripts/contract/documents/realtime.ts'

t.test('The page of the realtime channel shows every close code, and an example of every message', async (t) => {
  const text = JSON.stringify(realtimeReference())
  t.same(
    Object.values(closeCodes).filter((code) => !text.includes(`\\n| ${code} | `)),
    [],
  )
  const { webhooks } = realtimeReference() as { webhooks: Record<string, { post: { requestBody: object } }> }
  const events = Object.entries(webhooks)
  t.ok(events.length > 7, `${events.length} events`)
  t.same(
    events.filter(([, { post }]) => !/"examples":\{"/.test(JSON.stringify(post.requestBody))).map(([name]) => name),
    [],
  )
})
