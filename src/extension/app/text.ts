import type messages from '../../../examples/extension/_locales/en/messages.json'
import type { Platform } from './platform.ts'

/** The names of the texts in `_locales/`, which has a file for each language. */
export type TextName = keyof typeof messages

declare const chrome: Pick<Platform, 'i18n'>

/** Returns a text in the language of the browser, or else in English, with the values in place of `$1`, `$2` and so on. */
export function text(name: TextName, ...values: (string | number)[]): string {
  return chrome.i18n.getMessage(name, values.map(String))
}
