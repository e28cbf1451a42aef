/**
 * The id of the newest master key that a keyring names, in base64. Undefined if that is the vault's first key, or if
 * the text is not a keyring: services of version 2.0.0 stored any text.
 */
export function claimedKeyId(keyring: string): string | undefined {
  try {
    const { key_id } = JSON.parse(keyring) as { key_id?: unknown }
    return typeof key_id === 'string' && /^[A-Za-z0-9+/]{11}=$/.test(key_id) ? key_id : undefined
  } catch {
    return undefined
  }
}
