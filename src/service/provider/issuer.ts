import type { Config } from '../config/config.ts'
import { commandLine } from '../terminal/command.ts'

/**
 * The development provider's issuer, whatever its port: users are identified by it, so another port must not turn them
 * into new users. It has the default port, because most development databases have users with this issuer.
 */
const developmentIssuer = 'http://127.0.0.1:3001'

/** The issuer of the configured provider. */
export function issuerOf({ identityProvider }: Pick<Config, 'identityProvider'>): string {
  return identityProvider?.issuer ?? developmentIssuer
}

/** The usual spellings of an issuer: a provider may add a slash to a bare host. */
export function spellingsOf(issuer: string): string[] {
  const { href = issuer, origin = issuer } = URL.parse(issuer) ?? {}
  return [...new Set(href === `${origin}/` ? [issuer, origin, href] : [issuer, href])]
}

/** Also true for two spellings of one URL, such as a bare host with a slash: they lead to the same metadata. */
export function isSameIssuer(one: string, other: string): boolean {
  const { href } = URL.parse(one) ?? {}
  return one === other || (href !== undefined && href === URL.parse(other)?.href)
}

/** The command line that shows how users would be moved to another issuer, without moving them. */
export function moveCall(from: string, to: string): string {
  return commandLine('admin', `move-issuer ${from} ${to} --dry-run`)
}
