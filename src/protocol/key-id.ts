/**
 * The id of the newest master key, in base64, as the keyring claims. Undefined if it names none, because the keys were
 * never rotated, or if the text is not a keyring: services of version 2.0.0 stored any text.
 */
export function claimedKeyId(keyring: string): string | undefined {
  try {
    const { key_id } = JSON.parse(keyring) as { key_id?: unknown }
    return typeof key_id === 'string' && /^[A-Za-z0-9+/]{11}=$/.test(key_id) ? key_id : undefined
  } catch {
    return undefined
  }
}
