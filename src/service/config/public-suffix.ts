import { getPublicSuffix } from 'tldts'

/** A domain that many people share, such as `org` or `github.io`. */
export function isPublicSuffix(domain: string): boolean {
  return getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}
