/**
 * Whether the service takes this as an id: 1 to 128 printable ASCII characters. So it holds no NUL, which joins
 * associated data.
 */
export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value)
}
