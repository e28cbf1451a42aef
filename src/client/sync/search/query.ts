import { bareAddress } from '../../bookmark/address.ts'
import { plainSigns, spellings } from './fold.ts'

/** A part of a search: what a bookmark must have, or must not have. */
export interface Term {
  /** The fields that are searched; `text` is all of them. */
  kind: 'text' | 'tag' | 'folder' | 'site' | 'untagged'
  /** The folded spellings. A bookmark must have one of them: umlauts may be written as ae, oe and ue. */
  spellings: readonly string[]
  isExcluded: boolean
  /** True for a term in quotes, which is only found without a mistake. */
  isQuoted: boolean
  /** True after an `OR`: this or the term before it is enough. */
  isAlternative: boolean
}

/** A single quote may be an apostrophe, so it only counts as a quote around whole words. */
const syntax = /(-(?=[^\s-]))?(#|in:|site:|is:)?(?:"([^"]*)"?|'((?:[^']|'(?!\s|$)){1,100})'(?=\s|$)|(\S*))/gi
const kinds: Readonly<Record<string, Term['kind']>> = { '#': 'tag', 'in:': 'folder', 'site:': 'site' }

/**
 * Reads what a person types: words, `"words that follow each other"`, `-without`, `#tag`, `in:folder`, `site:example.com` and
 * `is:untagged`, and `OR` between two of these. Typographic quotes and dashes count, too.
 */
export function parseQuery(query: string): Term[] {
  const text = plainSigns(query).normalize('NFKC').replaceAll('\0', ' ')
  const terms: Term[] = []
  let isAlternative = false
  for (const match of text.matchAll(syntax)) {
    if (match[0] === 'OR') isAlternative = terms.length > 0
    else if (match[0] !== '') {
      for (const term of termsIn(match)) terms.push({ ...term, isAlternative })
      isAlternative = false
    }
  }
  if (terms.some((term) => term.isAlternative)) return terms
  return [...new Map(terms.map((term) => [JSON.stringify(term), term])).values()]
}

/** The terms of one match of `syntax`; none for an operator alone, such as `in:` (but `is:` alone finds `is:untagged`). */
function termsIn([, minus, typed = '', double, single, word = '']: RegExpExecArray): Omit<Term, 'isAlternative'>[] {
  const operator = typed.toLowerCase()
  const isQuoted = (double ?? single) !== undefined
  const value = (double ?? single ?? word).replace(/\s+/g, ' ').trim()
  const common = { isExcluded: minus !== undefined, isQuoted }
  if (operator === 'is:' && 'untagged'.startsWith(value.toLowerCase()))
    return [{ kind: 'untagged', spellings: [], ...common }]
  const kind = kinds[operator] ?? 'text'
  const sought = kind === 'site' ? siteIn(value) : kind !== 'text' || isQuoted ? value : asStored(operator + value)
  const found = sought === '' ? [''] : spellings(sought).map((one) => one.trim())
  return found.includes('') ? [] : [{ kind, spellings: found, ...common }]
}

/** The word as the searched texts have it: percent signs decoded, no `https://` or `www.` in front. Empty for a lone dash. */
function asStored(word: string): string {
  const isAddress = /^(?:https?:\/\/|www\.)[^.]+\../i.test(word)
  return readable(isAddress ? siteIn(word) : word.replace(/^-+$/, ''))
}

function siteIn(value: string): string {
  return bareAddress(value.replace(/^(?:https?:\/\/)?(?:www\.|[*.])*/i, 'https://')) ?? ''
}

/** An address with its percent signs decoded. */
export function readable(url: string): string {
  if (!url.includes('%')) return url
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}
