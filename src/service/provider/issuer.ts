import type { Config } from '../config/config.ts'
import { commandLine } from '../terminal/command.ts'

/**
 * The development provider's issuer, on whatever port it listens: people are known by it, and another port must not make them
 * strangers. It is the default port's, which most databases of earlier versions have.
 */
const developmentIssuer = 'http://127.0.0.1:3001'

/** The issuer whose people sign in. */
export function issuerOf({ identityProvider }: Pick<Config, 'identityProvider'>): string {
  return identityProvider?.issuer ?? developmentIssuer
}

/** The usual spellings of an issuer: a provider may add a slash to a bare host. */
export function spellingsOf(issuer: string): string[] {
  const { href = issuer, origin = issuer } = URL.parse(issuer) ?? {}
  return [...new Set(href === `${origin}/` ? [issuer, origin, href] : [issuer, href])]
}

/** True also if the two are spelt otherwise, which is no matter for a provider's metadata. */
export function isSameIssuer(one: string, other: string): boolean {
  const { href } = URL.parse(one) ?? {}
  return one === other || (href !== undefined && href === URL.parse(other)?.href)
}

/** The call that shows how users would be moved from one issuer to the other. */
export function moveCall(from: string, to: string): string {
  return commandLine('admin', `move-issuer ${from} ${to} --dry-run`)
}
