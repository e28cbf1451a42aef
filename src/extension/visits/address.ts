import { siteOf } from '../../client/bookmark/address.ts'

/** Longer addresses carry data rather than name a page. */
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

/** True if the address belongs to one of these sites, or to a subdomain of one. */
export function isOfSite(url: string, sites: readonly string[]): boolean {
  const hostname = URL.canParse(url) ? new URL(url).hostname : ''
  return sites.some((site) => hostname === site || hostname.endsWith(`.${site}`))
}

/** The host names of the sites that a person has typed, separated by spaces, commas or lines. */
export function readSites(text: string): string[] {
  const hosts = text.split(/[\s,]+/).flatMap((line) => {
    const url = /^https?:\/\//i.test(line) ? line : `https://${line}`
    return (line && siteOf(url)) || []
  })
  return [...new Set(hosts)]
}
