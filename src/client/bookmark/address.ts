/** The site that an address leads to, as people say it; empty if it leads to none. */
export function siteOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : ''
}

/** Removes the parts that do not change the page; bookmarks that have no address are not the same page. */
export function bareAddress(url: string | undefined): string | undefined {
  const address = url?.replace(/^https?:\/\/(www\.)?/i, '') ?? ''
  let end = address.length
  // Not by a regular expression: it would take each of thousands of # for the first of those at the end.
  while (end > 0 && '/?#'.includes(address.charAt(end - 1))) end--
  return address.slice(0, end) || undefined
}
