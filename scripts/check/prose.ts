/** A step of `npm run check`: the documents and the contracts' descriptions have short sentences in common words. */
import { globSync, readFileSync } from 'node:fs'
import { createMarkdownRenderer } from 'vitepress'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }

const mostWords = 40

/** Words to avoid, each with its replacement. */
const avoided: [words: RegExp, instead: string][] = [
  [/\bwhoever\b/i, 'name the person'],
  [/\b(as many as|so many)\b/i, 'say how many'],
  [/\bbeside\b/i, 'next to, alongside, in addition to'],
  [/\banew\b/i, 'again'],
  [/\bmend(s|ed|ing)?\b/i, 'fix, repair'],
  [/\buntold\b/i, 'unreported'],
  [/(?<!there )\bis none\b/i, 'is not one'],
  [/\bis no (error|edit|conflict|news)\b/i, 'is not'],
]

const pages = globSync(['*.md', 'docs/**/*.md', 'src/*/README.md', 'examples/*/README.md'], {
  exclude: ['CHANGELOG.md', 'docs/using/de/**'],
})
const renderer = await createMarkdownRenderer('.', { highlight: (code) => code })
const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
/** Replaces code in a sentence. Capitalized, or else the segmenter would not see that a sentence begins with code. */
const code = 'Code'
const replacements: Record<string, string> = { code_inline: code, softbreak: ' ' }

for (const file of pages.sort()) checkText(readFileSync(file, 'utf8'), (line) => `${file}:${line}`)
checkDescriptions(openapi, 'openapi.yaml')
checkDescriptions(asyncapi, 'asyncapi.yaml')

function checkDescriptions(value: unknown, place: string): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    if (/^(description|summary)$/.test(name) && typeof inner === 'string') checkText(inner, () => place)
    else checkDescriptions(inner, `${place} ${name}`)
  }
}

function checkText(markdown: string, placeOf: (line: number) => string): void {
  let line = 1
  for (const { type, map, children } of renderer.parse(markdown, {})) {
    if (map) line = map[0] + 1
    if (type !== 'inline') continue
    const text = (children ?? []).map(({ type, content }) => (type === 'text' ? content : (replacements[type] ?? '')))
    for (const { segment } of segmenter.segment(text.join(''))) checkSentence(segment.trim(), placeOf(line))
  }
}

function checkSentence(sentence: string, place: string): void {
  const words = sentence.split(/\s+/).filter((word) => /\w/.test(word) && !word.includes(code))
  if (words.length > mostWords) report(place, `a sentence of ${words.length} words: ${sentence}`)
  for (const [pattern, instead] of avoided) {
    const [found] = pattern.exec(sentence) ?? []
    if (found) report(place, `“${found}”, better “${instead}”: ${sentence}`)
  }
}

function report(place: string, fault: string): void {
  console.error(`${place}: ${fault}`)
  process.exitCode = 1
}
