/** True on computers of Apple, whose keys have other names. */
export function isApple(): boolean {
  return /Mac OS|iPhone|iPad/.test(navigator.userAgent)
}

/** The key as shortcuts name it, also with Caps Lock and on a keyboard without Latin letters. With Shift, a letter is a capital. */
export function shortcutOf({ key, code, shiftKey }: Pick<KeyboardEvent, 'key' | 'code' | 'shiftKey'>): string {
  if (key.length > 1) return key
  const [, latin] = /^Key([A-Z])$/.exec(code) ?? []
  const letter = latin && !/^[ -~]$/.test(key) ? latin : key
  return shiftKey ? letter.toUpperCase() : letter.toLowerCase()
}
