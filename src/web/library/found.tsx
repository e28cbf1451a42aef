import { type Inputs, useEffect, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { fold, spellings } from '../../client/sync/search/fold.ts'
import { parseQuery } from '../../client/sync/search/query.ts'
import { say } from '../words/words.ts'

/** The results of a search, updated after each change of the data. Old results stay until new ones arrive. */
export function useSearched<T>(sync: Sync, search: (signal: AbortSignal) => Promise<T>, inputs: Inputs): T | undefined {
  const [found, setFound] = useState<T>()
  useEffect(() => {
    const stop = new AbortController()
    const look = () => {
      search(stop.signal).then(setFound, () => {})
    }
    look()
    const off = sync.on('change', look)
    return () => {
      off()
      stop.abort()
    }
  }, inputs)
  return found
}

/** The ids of everything that the search finds; undefined if the query is empty. */
export async function findIds(sync: Sync, query: string, signal: AbortSignal): Promise<Set<string> | undefined> {
  if (query.trim() === '') return undefined
  const hits = await sync.search(query, { limit: Number.POSITIVE_INFINITY, signal })
  return new Set(hits.map(({ id }) => id))
}

/** A text with the searched words highlighted. */
export function Highlight({ text, words }: { text: string; words: readonly string[] }) {
  if (words.length === 0) return <>{text}</>
  const pieces: { start: number; text: string; isFound: boolean }[] = []
  const letters = [...text]
  const foundAt = new Set<number>()
  for (const folded of [letters.map(fold), letters.map((letter) => spellings(letter).at(-1) ?? '')])
    for (const index of foundLetters(folded, words)) foundAt.add(index)
  for (const [index, letter] of letters.entries()) {
    const isFound = foundAt.has(index)
    const last = pieces.at(-1)
    if (last?.isFound === isFound) last.text += letter
    else pieces.push({ start: index, text: letter, isFound })
  }
  return <>{pieces.map((piece) => (piece.isFound ? <mark key={piece.start}>{piece.text}</mark> : piece.text))}</>
}

/** The words of a search that are to be highlighted in its hits. */
export function markedIn(query: string): string[] {
  const wanted = parseQuery(query).filter(({ kind, isExcluded }) => !isExcluded && kind !== 'folder')
  return wanted.flatMap(({ spellings }) => spellings)
}

/** Puts a query in quotation marks, unless it contains some. */
export function quotedQuery(query: string): string {
  return fold(query).includes('"') ? query : say.ui.quoted(query)
}

/** The words of a text, without accents, `#`, and differences of case. */
export function wordsOf(query: string): string[] {
  return [...query].map(fold).join('').replaceAll('#', '').split(/\s+/).filter(Boolean)
}

function foundLetters(folded: readonly string[], words: readonly string[]): Set<number> {
  const found = new Set<number>()
  const starts: number[] = []
  let text = ''
  for (const [index, letter] of folded.entries()) {
    for (let at = 0; at < letter.length; at++) starts.push(index)
    text += letter
  }
  for (const word of words) {
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
      for (let offset = 0; offset < word.length; offset++) found.add(starts[at + offset] as number)
    }
  }
  return found
}
