import { hourOf } from '../auth/sessions.ts'
import { endOtherSessions, endSession, type SignOutParts } from '../auth/sign-out.ts'
import { listLogins } from '../db/tables/logins.ts'
import type { Hub } from '../realtime/hub.ts'
import { done, type Operations } from './operation.ts'

interface Parts extends SignOutParts {
  hub: Pick<Hub, 'loginsOf'>
}

export const sessionOperations: Operations<'listSessions' | 'endSession' | 'endOtherSessions', Parts> = {
  async listSessions({ session: { userId, loginId }, query }, { database, clock, hub }) {
    const { limit, after } = query
    const found = await listLogins(database.db, { userId, before: after, limit: limit + 1, now: clock() })
    const page = found.slice(0, limit)
    const sockets = hub.loginsOf(userId)
    const sessions = page.map(({ id, created_at, authenticated_at, last_used_at, user_agent }) => {
      const current = id === loginId
      return {
        id,
        created_at,
        authenticated_at,
        last_used_at: hourOf(current ? clock() : Math.max(created_at, last_used_at)),
        user_agent,
        current,
        sockets: sockets.filter((other) => other === id).length,
      }
    })
    return { status: 200, body: { sessions, next: found.length > limit ? (page.at(-1)?.id ?? null) : null } }
  },

  async endSession({ session, params, log }, parts) {
    await endSession(parts, session, params.id, log)
    return { status: 200, body: done }
  },

  async endOtherSessions({ session, log }, parts) {
    await endOtherSessions(parts, session, log)
    return { status: 200, body: done }
  },
}
