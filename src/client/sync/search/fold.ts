/** The combining accents of Latin, Greek and Cyrillic. Other scripts' marks, such as vowels, make another word. */
const accents = /[\u0300-\u036f]/g

/** The text without differences of case and accents. */
export function fold(text: string): string {
  // In capitals first, because ß then becomes SS and ς becomes Σ, like σ.
  return text.normalize('NFKD').replace(accents, '').toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}
