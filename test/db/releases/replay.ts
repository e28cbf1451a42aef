import { randomBytes, randomUUID } from 'node:crypto'
import type { Connection } from './released.ts'

export interface Statement {
  connection: number
  sql: string
  parameters: unknown[]
  rows: unknown[]
}

/** What an instance sends while one person signs in and syncs: the texts, and each statement with what it returned. */
export interface Session {
  texts: string[]
  steps: [text: number, parameters: unknown[], rows: unknown[]][]
}

const ids = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?<=")[\w-]{43}(?=")/g

/** Sends the session as another person. Returns the statements that were not answered as they were then. */
export async function replay({ run }: Connection, { texts, steps }: Session): Promise<unknown[]> {
  const own = new Map<string, string>([['eve', randomUUID()]])
  const ownId = (id: string) => {
    if (!own.has(id)) own.set(id, id.length === 43 ? randomBytes(32).toString('base64url') : randomUUID())
    return own.get(id) ?? ''
  }
  const wrong: unknown[] = []
  for (const [text, given, rows] of steps) {
    const sql = texts[text] ?? ''
    const parameters = JSON.parse(
      JSON.stringify(given)
        .replaceAll(ids, ownId)
        .replaceAll('"eve"', JSON.stringify(own.get('eve'))),
    )
    const answer = await run(sql, parameters)
    if (comparable(answer) !== comparable(rows)) wrong.push({ sql, parameters, answer, recorded: rows })
  }
  return wrong
}

/** Ids differ, and each person's name is another. */
function comparable(rows: unknown[]): string {
  return JSON.stringify(rows).replaceAll(ids, 'id').replaceAll('"eve"', '"id"')
}
