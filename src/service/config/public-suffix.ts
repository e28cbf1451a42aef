import { getPublicSuffix } from 'tldts'

/** True for a domain under which anybody can get one, such as `org` or `github.io`. */
export function isPublicSuffix(domain: string): boolean {
  return getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}
