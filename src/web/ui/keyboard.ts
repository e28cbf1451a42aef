/** True on Apple's computers, whose keys have other names. */
export function isApple(): boolean {
  return /Mac OS|iPhone|iPad/.test(navigator.userAgent)
}

/** A key's name in shortcuts, independent of Caps Lock and of the keyboard's script. With Shift, a letter is a capital. */
export function shortcutOf({ key, code, shiftKey }: Pick<KeyboardEvent, 'key' | 'code' | 'shiftKey'>): string {
  if (key.length > 1) return key
  const [, latin] = /^Key([A-Z])$/.exec(code) ?? []
  const letter = latin && !/^[ -~]$/.test(key) ? latin : key
  return shiftKey ? letter.toUpperCase() : letter.toLowerCase()
}
