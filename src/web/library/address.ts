/** Schemes whose addresses run code or show content of their own in the name of a page. */
const refused = /^(javascript|data|vbscript|blob):/i

/**
 * The address that a person has typed, with the scheme that is missing. Relative addresses, as some bookmark files have
 * them, stay as they are.
 *
 * @throws RangeError it runs code instead of leading anywhere, or leads nowhere
 */
export function completeAddress(typed: string): string {
  const text = typed.trim()
  // Browsers leave out control characters and spaces where they look for the scheme.
  const scheme = Array.from(text, (one) => (one > ' ' ? one : '')).join('')
  if (refused.test(scheme)) throw new RangeError('Addresses that run code or contain a page are not saved')
  if (/^[./?#]/.test(text)) return text
  const hasScheme = /^[a-z][a-z0-9+.-]*:(?!\d+(\/|$))/i.test(text)
  const address = hasScheme ? text : `https://${text}`
  // Some browsers take a space within a host.
  if (!URL.canParse(address) || /^[a-z]+:\/\/[^/?#]*\s/i.test(address))
    throw new RangeError('This leads nowhere. Look at what you typed')
  return address
}
