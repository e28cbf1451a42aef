import type pg from 'pg'
import { formOf, type Statements } from '../../support/statements.ts'
import listed from './across-users.json' with { type: 'json' }
import { shardsOf } from './rules.ts'

/**
 * The forms of statements that may reach several users' shards, by their reason. Few are part of a request: cookies
 * that name several people, several attempts to sign in, and the first sign-in at a provider.
 */
const { sentByShards, sentElsewhere }: Record<'sentByShards' | 'sentElsewhere', Record<string, string[]>> = listed
const formsIn = (lists: Record<string, string[]>) => Object.values(lists).flat()
/** The listed forms that the shards test sends. */
export const sentByShardsTest = formsIn(sentByShards)
const allListed = new Set([...sentByShardsTest, ...formsIn(sentElsewhere)])

/** The forms of the statements that reach several shards of the client's partitioned database, and are not listed. */
export async function findUnlisted(client: pg.Client, statements: Statements): Promise<string[]> {
  return (await findAcross(client, statements)).filter((form) => !allListed.has(form))
}

/** The forms of the statements that reach several shards of the client's partitioned database. */
export async function findAcross(client: pg.Client, statements: Statements): Promise<string[]> {
  const across = new Set<string>()
  for (const { text, values } of statements.values()) {
    const plan = await client.query(`explain (format json) ${text}`, values).catch((error) => {
      // A table or column that a test's own migration adds.
      if (error.code === '42P01' || error.code === '42703') return undefined
      throw new Error(`${text}: ${error.message}`)
    })
    if (plan && shardsOf(plan.rows[0]['QUERY PLAN'][0].Plan).size > 1) across.add(formOf(text))
  }
  return [...across]
}
