import type messages from '../../../examples/extension/_locales/en/messages.json'
import type { Platform } from './platform.ts'

/** The texts of `_locales/`: a language is one file of them. */
export type TextName = keyof typeof messages

declare const chrome: Pick<Platform, 'i18n'>

/** A text in the language of the browser, or else in English, with these values in its places. */
export function text(name: TextName, ...values: (string | number)[]): string {
  return chrome.i18n.getMessage(name, values.map(String))
}
