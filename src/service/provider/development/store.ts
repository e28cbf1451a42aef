import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

/** What the development provider remembers until it stops. The provider itself checks whether a record has expired. */
export function memoryStore(): AdapterFactory {
  // Sessions are forgotten at once, so that each sign-in asks for a name and can be somebody else's.
  return (model) => storeOf(model === 'Session' ? null : new Map())
}

function storeOf(records: Map<string, AdapterPayload> | null): Adapter {
  return {
    async upsert(id, payload) {
      records?.set(id, payload)
    },
    async find(id) {
      return records?.get(id)
    },
    async findByUid() {},
    async findByUserCode() {},
    async consume(id) {
      const record = records?.get(id)
      if (record !== undefined) record.consumed = Math.floor(Date.now() / 1000)
    },
    async destroy(id) {
      records?.delete(id)
    },
    async revokeByGrantId(grantId) {
      for (const [id, record] of records ?? []) if (record.grantId === grantId) records?.delete(id)
    },
  }
}
