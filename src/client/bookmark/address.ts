/** The host of an address without `www.`; empty if there is none. */
export function siteOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : ''
}

/** The address to compare: without `https://` or `http://`, `www.`, and `/?#` at its end. Undefined if nothing is left. */
export function bareAddress(url: string | undefined): string | undefined {
  const address = url?.replace(/^https?:\/\/(www\.)?/i, '') ?? ''
  let end = address.length
  // Not a regular expression, which would take quadratic time for thousands of #.
  while (end > 0 && '/?#'.includes(address.charAt(end - 1))) end--
  return address.slice(0, end) || undefined
}
