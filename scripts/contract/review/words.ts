import { diffArrays } from 'diff'

/** Words whose change may change the meaning: numbers, units, code, and words such as must, may and never. */
const weighty =
  /\d|`|\b(must|shall|should|may|can|cannot|never|always|only|at (most|least)|not|unix|ms|(milli)?seconds?|minutes?|hours?|days?|bytes?|[kmg]iB|soft|hard|permanent(ly)?)\b/i

/** The changed sentences in Markdown, with old words in `<del>`, new ones in `<ins>`. */
export function wordDiff(before: string, after: string): { text: string; isWeighty: boolean } {
  const parts = diffArrays(before.split(' '), after.split(' '))
  const shown = parts.map(({ value, added, removed }, index) => {
    const words = value.join(' ').replaceAll('<', '&lt;')
    if (removed) return words && `<del>${words}</del>`
    if (added) return words && `<ins>${words}</ins>`
    const start = index === 0 ? '' : (/^.*?[.!?:](?= |$)/.exec(words)?.[0] ?? words)
    const end = index === parts.length - 1 ? '' : (/(?:^|[.!?:] )((?:(?![.!?:] ).)*)$/.exec(words)?.[1] ?? words)
    return start.length + end.length < words.length - 1 ? `${start} … ${end}`.trim() : words
  })
  const text = shown.filter(Boolean).join(' ')
  return { text, isWeighty: weighty.test(text.replaceAll(/<\/?(del|ins)>/g, '')) }
}
