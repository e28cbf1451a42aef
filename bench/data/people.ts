import { createHash, randomBytes } from 'node:crypto'
import { parse, v7 as uuidv7 } from 'uuid'
import { createSeal } from '../../src/service/seal/seal.ts'
import type { Data } from './database.ts'

export interface Person {
  userId: string
  session: string
}

const dayMs = 86_400_000
const perStatement = 500

/** Users who are signed in, without anything stored. */
export async function addPeople(data: Data, count: number, secretKey: string): Promise<Person[]> {
  const seal = createSeal([Buffer.from(secretKey, 'base64')])
  const people = Array.from({ length: count }, () => newPerson())
  const now = Date.now()
  for (let from = 0; from < count; from += perStatement) {
    const part = people.slice(from, from + perStatement)
    const users = part.map(({ userId }) => {
      const sealed = seal.seal(randomBytes(32), { purpose: 'export-key', userId, rowId: userId })
      return `('${userId}', 'https://issuer.example', '${userId}', '', '', '', 0, '${sealed}', ${now})`
    })
    await data.run(`INSERT INTO users (id, issuer, subject, email, name, avatar_url, email_verified, export_key_sealed,
      created_at) VALUES ${users}`)
    const logins = part.map(({ userId }) => `('${userId}', '${userId}', ${now}, ${now})`)
    await data.run(`INSERT INTO logins (id, user_id, checked_at, created_at) VALUES ${logins}`)
    const tokens = part.map(({ userId, session }) => {
      const hash = createHash('sha256').update(session).digest('base64url')
      return `('${hash}', 'session', '${userId}', ${now}, ${now + dayMs})`
    })
    await data.run(`INSERT INTO tokens (hash, kind, login_id, issued_at, expires_at) VALUES ${tokens}`)
  }
  return people
}

/** The session names its user, as the service's own do (src/service/auth/sessions.ts). */
function newPerson(): Person {
  const userId = uuidv7()
  return { userId, session: Buffer.concat([parse(userId), randomBytes(16)]).toString('base64url') }
}
