/** The host of an address without `www.`; empty if there is none. */
export function siteOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : ''
}

/** Leaves out parts that do not change the page. Undefined without an address, so that such bookmarks are never equal. */
export function bareAddress(url: string | undefined): string | undefined {
  const address = url?.replace(/^https?:\/\/(www\.)?/i, '') ?? ''
  let end = address.length
  // Not a regular expression, which would take quadratic time for thousands of #.
  while (end > 0 && '/?#'.includes(address.charAt(end - 1))) end--
  return address.slice(0, end) || undefined
}
