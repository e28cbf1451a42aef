import openapi from '../../generated/openapi.json' with { type: 'json' }

const [example] = openapi.components.schemas.Keyring.properties.keyring.examples as [string]

/** A text that has the form of a keyring, and that no other mark's is. Nothing opens it. */
export function keyringOf(mark: string): string {
  return JSON.stringify({ ...JSON.parse(example), mark })
}
