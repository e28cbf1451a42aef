/** The combining accents of Latin, Greek and Cyrillic. Other scripts' marks, such as vowels, make another word. */
const accents = /[\u0300-\u036f]/g
const umlauts = /([aou])\u0308/gi
/** Dashes, single quotes and apostrophes, double quotes, and four invisible characters, such as the soft hyphen. */
const signs = /([‐-―−⁃﹘﹣－])|([‘’‚‛′ʼ‹›´`＇])|([“”„‟«»″〝〞＂])|[\u00ad\u200b\u2060\ufeff]/g
const letters: Readonly<Record<string, string>> = { ς: 'σ', ø: 'o', ł: 'l', đ: 'd', æ: 'ae', œ: 'oe' }

/** The text without differences of case and accents. */
export function fold(text: string): string {
  return withoutAccents(decompose(text))
}

/** The folded text, and another one with ae, oe and ue for umlauts if there are any. */
export function spellings(text: string): string[] {
  const decomposed = decompose(text)
  const folded = withoutAccents(decomposed)
  const other = decomposed.replace(umlauts, '$1e')
  return other === decomposed ? [folded] : [folded, withoutAccents(other)]
}

/** Signs become plain before, because NFKD makes ´ a space, and after, because it makes ŉ an apostrophe and an n. */
function decompose(text: string): string {
  return plainSigns(plainSigns(text).normalize('NFKD'))
}

/** The text with a plain dash or quote for each one in `signs`, and without the four invisible characters. */
export function plainSigns(text: string): string {
  return text.replace(signs, (_, dash, single, double) => (dash ? '-' : single ? "'" : double ? '"' : ''))
}

function withoutAccents(decomposed: string): string {
  // In upper case first, because ß then becomes SS and ς becomes Σ, like σ.
  const folded = decomposed.replace(accents, '').toUpperCase().toLowerCase()
  return folded.replace(/[ςøłđæœ]/g, (letter) => letters[letter] as string)
}
