import { readFileSync } from 'node:fs'
import type { Platform } from '../../src/extension/app/platform.ts'

const locales = new URL('../../examples/extension/_locales/', import.meta.url)

/** The texts of the example extension in a language, by their names. */
export function textsIn(language: string): Record<string, { message: string }> {
  return JSON.parse(readFileSync(new URL(`${language}/messages.json`, locales), 'utf8'))
}

/** The part of the browser's API that returns the texts in this language. */
export function i18nOf(language: string): Platform['i18n'] {
  const texts = textsIn(language)
  return {
    getMessage: (name, values) =>
      (texts[name]?.message ?? '').replaceAll(/\$(\d)/g, (_, number) => values[number - 1] ?? ''),
  }
}
