import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { createdExport } from '../support/exports.ts'

const path = '/api/v1/account'

const app = await buildApp(t, { MAX_USER_BYTES: '5000', KEEP_VERSIONS_DAYS: '7' })

t.test('A user sees who they are, what they store, and the limits that hold', async (t) => {
  const ada = await app.user('ada')
  const { user } = (await ada.call('GET', '/api/v1/auth/session')).body
  const nothing = { bytes: 0, records: 0, version_bytes: 0, export_bytes: 0, devices: 0 }
  const empty = await ada.call('GET', path)
  t.match(empty.body, { user, usage: nothing })
  t.match(empty.body.limits, {
    stored_bytes: 5000,
    version_days: 7,
    versions_of_record: quotas.versionsOfRecord,
    requests_per_minute: app.context.config.rateLimitPerMinute,
    push_changes: 10_000,
    batch_body_bytes: 32 * 1024 * 1024,
    body_bytes: 1024 * 1024,
  })

  const push = (encrypted_data: string, timestamp: number) => {
    const changes = [change({ entity_id: 'a', encrypted_data, timestamp })]
    return ada.call('POST', '/api/v1/sync/push', { headers: { 'x-device-id': 'phone' }, body: { changes } })
  }
  await push('x'.repeat(30), 1)
  await push('y'.repeat(12), 2)
  const { size_bytes } = await createdExport(ada)
  const { body } = await ada.call('GET', path)
  t.same(body.usage, { bytes: 42, records: 1, version_bytes: 30, export_bytes: size_bytes, devices: 1 })
})
