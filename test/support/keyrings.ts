import openapi from '../../generated/openapi.json' with { type: 'json' }
import type { TestUser } from './app.ts'

const [example] = openapi.components.schemas.Keyring.properties.keyring.examples as [string]

/** A text in the form of a keyring, different for each mark. It cannot be opened. */
export function keyringOf(mark: string): string {
  return JSON.stringify({ ...JSON.parse(example), mark })
}

/** Stores keyrings up to this revision, each replacing the previous one. */
export async function replaceKeyring({ call }: Pick<TestUser, 'call'>, last: number, first = 1): Promise<void> {
  for (let revision = first; revision <= last; revision++) {
    const body = { keyring: keyringOf(`${revision}`), revision }
    const { status } = await call('PUT', '/api/v1/account/keyring', { body })
    if (status !== 200) throw new Error(`the keyring got ${status}`)
  }
}
