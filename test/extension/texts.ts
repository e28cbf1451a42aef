import { readFileSync } from 'node:fs'
import type { Platform } from '../../src/extension/app/platform.ts'

const locales = new URL('../../examples/extension/_locales/', import.meta.url)

/** The texts of the example extension in a language, by their names. */
export function textsIn(language: string): Record<string, { message: string }> {
  return JSON.parse(readFileSync(new URL(`${language}/messages.json`, locales), 'utf8'))
}

/** Sets the texts that a browser in this language gives to the extension. */
export function i18nOf(language: string): Platform['i18n'] {
  const texts = textsIn(language)
  return {
    getMessage: (name, values) =>
      (texts[name]?.message ?? '').replaceAll(/\$(\d)/g, (_, number) => values[number - 1] ?? ''),
  }
}
