import highlighter from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import go from 'highlight.js/lib/languages/go'
import java from 'highlight.js/lib/languages/java'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import rust from 'highlight.js/lib/languages/rust'
import typescript from 'highlight.js/lib/languages/typescript'
import { htmlText } from './html.ts'

const languages = { sh: bash, json, ts: typescript, tsx: typescript, python, java, go, rust }
for (const [name, language] of Object.entries(languages)) highlighter.registerLanguage(name, language)

/** Code as HTML, its words in spans with the classes of highlight.js. */
export function highlight(code: string, language: string): string {
  return language in languages ? highlighter.highlight(code, { language }).value : htmlText(code)
}
