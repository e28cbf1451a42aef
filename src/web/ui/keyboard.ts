/** True on Apple's devices, whose keys have other names. */
export function isApple(): boolean {
  return /Mac OS|iPhone|iPad/.test(navigator.userAgent)
}

/** The key in shortcuts: the Latin letter, in any keyboard layout. It is a capital with Shift, not with Caps Lock. */
export function shortcutOf({ key, code, shiftKey }: Pick<KeyboardEvent, 'key' | 'code' | 'shiftKey'>): string {
  if (key.length > 1) return key
  const [, latin] = /^Key([A-Z])$/.exec(code) ?? []
  const letter = latin && !/^[ -~]$/.test(key) ? latin : key
  return shiftKey ? letter.toUpperCase() : letter.toLowerCase()
}
