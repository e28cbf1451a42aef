import { siteOf } from '../../client/bookmark/address.ts'

/** Longer addresses (characters) carry data rather than name a page. */
const mostLetters = 4000

/** The address under which visits of a page are stored; undefined if they are not. */
export function storedAddress(url: string | undefined): string | undefined {
  if (!url || url.length > mostLetters || !/^https?:/i.test(url) || !URL.canParse(url)) return undefined
  const address = new URL(url)
  // A name and a password are for the server alone.
  address.username = ''
  address.password = ''
  // A fragment is a place in the page, except in apps that use it as their route (`#/…`, `#!…`).
  if (!/^#!?\//.test(address.hash) && !address.hash.startsWith('#!')) address.hash = ''
  return address.href
}

/** Replaces characters that XML does not allow, and those that reverse the text after them and could hide an address. */
export function readable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\p{Bidi_Control}\uFFFE\uFFFF]/gu, ' ')
}

/** True if the address belongs to one of these sites (from `readSites`), or to a subdomain of one. */
export function isOfSite(url: string, sites: readonly string[]): boolean {
  const hostname = URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : ''
  return sites.some((site) => hostname === site || hostname.endsWith(`.${site}`))
}

/**
 * The host names of the sites that a person has typed, separated by spaces, commas or lines: as a name, as an address, or
 * as a pattern such as `*.bank.example`. `unread` has the words that are none of these.
 */
export function readSites(text: string): { sites: string[]; unread: string[] } {
  const words = text.split(/[\s,]+/).filter(Boolean)
  const hosts = words.map((word) => hostOf(word.replace(/^([a-z][a-z\d+.-]*:\/\/)?(\*?\.)*/i, '')))
  return { sites: [...new Set(hosts.filter(Boolean))], unread: words.filter((_, index) => !hosts[index]) }
}

/** Empty if the address has no host, or one with a `*`. */
function hostOf(address: string): string {
  const host = siteOf(`https://${address}`).replace(/\.$/, '')
  return host.includes('*') ? '' : host
}
