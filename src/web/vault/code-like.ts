/** About nine groups of three, as a recovery code is shown. */
const grouped = /^\s*(?:[0-9a-z]{2,4}[-\s]+){6,10}[0-9a-z*~$=]{1,4}\s*$/i
/** What a recovery code is read without. */
const separators = /[\s\p{Pd}\p{Cf}.,_]/gu

/** True if somebody has typed a recovery code, maybe with a mistake, rather than a passphrase. */
export function isCodeLike(typed: string): boolean {
  const characters = charactersOf(typed)
  // The last one is a check symbol. No words of a passphrase have digits between them.
  return grouped.test(typed) || (/^[0-9a-z]{22,28}[0-9a-z*~$=]$/i.test(characters) && /\d/.test(characters))
}

/** Of a recovery code, with its check symbol. */
export const codeLength = 27

/** A recovery code without what people type between its characters. */
export function charactersOf(typed: string): string {
  return typed.replace(separators, '')
}
