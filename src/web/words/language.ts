/** The page's language, and how it formats numbers, lists and times. The texts are in en.ts and de.ts. */

/** Each has a file of texts, such as `de.ts`, and all but English a loader in `words.ts`. The first is the default. */
export const languages = ['en', 'de'] as const

export type Language = (typeof languages)[number]

const stored = 'language'

/** The language chosen in this browser; undefined if the browser's own languages decide. */
export function chosenLanguage(): Language | undefined {
  try {
    return languages.find((one) => one === localStorage.getItem(stored))
  } catch {
    // The browser does not let this site store anything. The start of the page reports that.
    return undefined
  }
}

/** The name of a language in that language. */
export function languageName(language: Language): string {
  return new Intl.DisplayNames(language, { type: 'language' }).of(language) ?? language
}

/** Chooses a language and reloads the page. */
export function chooseLanguage(language: Language | undefined): void {
  if (language === undefined) localStorage.removeItem(stored)
  else localStorage.setItem(stored, language)
  location.reload()
}

/** Adds the person's region, if the browser reports one, because the region affects dates and numbers. */
function localeOf(wanted: Language | undefined): string {
  const isIn = (language: string) => (tag: string) => new Intl.Locale(tag).language === language
  const preferred = wanted ?? navigator.languages.find((tag) => languages.some((one) => isIn(one)(tag)))
  return (
    navigator.languages.find(isIn(new Intl.Locale(preferred ?? languages[0]).language)) ?? preferred ?? languages[0]
  )
}

/** The language with a region, if the browser reports one, such as `de-AT`. */
export const locale = localeOf(chosenLanguage())
export const language = new Intl.Locale(locale).language as Language

const numbers = new Intl.NumberFormat(locale)
const rules = new Intl.PluralRules(locale)
const lists = new Intl.ListFormat(locale, { type: 'unit' })

/** A number as text, such as "2,000". */
export function number(count: number): string {
  return numbers.format(count)
}

type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }

/** The form for this count, with the number in place of each `#`. */
export function plural(count: number, forms: Forms): string {
  return (forms[rules.select(count)] ?? forms.other).replaceAll('#', number(count))
}

/** A list as text, such as "3 bookmarks, 2 folders". */
export function list(parts: readonly string[]): string {
  return lists.format(parts)
}

const sizes = ['KB', 'MB', 'GB', 'TB'] as const

/** A size as text, such as "12 KB". As in many programs, a KB has 1,024 bytes. */
export function bytes(count: number): string {
  const power = Math.min(sizes.length, Math.max(0, Math.floor(Math.log2(Math.max(1, count)) / 10)))
  if (power === 0) return unit(count, 'byte')
  const value = count / 1024 ** power
  const maximumFractionDigits = value < 10 ? 1 : 0
  return `${value.toLocaleString(locale, { maximumFractionDigits })} ${sizes[power - 1]}`
}

/** A number with a unit, such as "3 days". */
export function unit(count: number, name: Intl.RelativeTimeFormatUnit | 'byte'): string {
  return count.toLocaleString(locale, { style: 'unit', unit: name, unitDisplay: 'long' })
}
