import { domainToASCII } from 'node:url'
import { ConfigError, type Env, oneOf, optional, text } from './values.ts'

/** Which of the provider's users may sign in. */
export interface Access {
  /** True if only existing users may. */
  isClosed: boolean
  /** Lower-case ASCII. If undefined, people with any address, or none, may sign in. */
  domains: ReadonlySet<string> | undefined
  requiredClaim: { name: string; value: string } | undefined
}

export function access(env: Env): Access {
  return {
    isClosed: oneOf(env, 'SIGN_UP', ['open', 'closed'], 'open') === 'closed',
    domains: allowedDomains(env),
    requiredClaim: requiredClaim(env),
  }
}

/** The domain in ASCII; undefined if it is not a domain, such as `a.example/x`, of which Node would take a part. */
export function mailDomain(domain: string): string | undefined {
  const labels = /^[\p{L}\p{N}\p{M}-]+(\.[\p{L}\p{N}\p{M}-]+)+$/u
  return labels.test(domain) ? domainToASCII(domain) || undefined : undefined
}

function allowedDomains(env: Env): Set<string> | undefined {
  const value = optional(env, 'OIDC_ALLOWED_DOMAINS')
  if (value === undefined) return undefined
  if (!text(env, 'OIDC_SCOPES', 'email').split(/\s+/).includes('email'))
    throw new ConfigError('OIDC_SCOPES must include email with OIDC_ALLOWED_DOMAINS')
  const items = value.split(',').map((item) => item.trim())
  return new Set(
    items.map((item) => {
      const domain = mailDomain(item)
      if (domain !== undefined) return domain
      const rule = 'must be a comma-separated list of e-mail domains such as example.org'
      throw new ConfigError(`OIDC_ALLOWED_DOMAINS ${rule}: ${item || 'one of them is empty'}`)
    }),
  )
}

function requiredClaim(env: Env): Access['requiredClaim'] {
  const given = optional(env, 'OIDC_REQUIRED_CLAIM')
  if (given === undefined) return undefined
  // Names may be URLs, such as https://example.org/groups.
  const [, name = '', value = ''] = /^([^=\s]+)\s*=\s*(.+)$/s.exec(given) ?? []
  if (name === '') throw new ConfigError('OIDC_REQUIRED_CLAIM must be a name and a value, like groups=bookmarks')
  return { name, value }
}
