import type { ComponentChildren } from 'preact'
import { h } from 'preact'
import { en, type LaterWords, type Words } from './en.ts'
import { type Language, language } from './language.ts'

interface Catalogue {
  first: Words
  later: LaterWords
}

const catalogues: Record<Exclude<Language, 'en'>, () => Promise<Catalogue>> = {
  de: () => import('./de.ts').then(({ de, deLater }) => ({ first: de, later: deLater })),
}

/** Returns the texts in the page's language, which load before a view that needs them; if that fails, the English ones. */
export async function inLanguage<Part extends keyof Catalogue>(
  part: Part,
  english: Catalogue[Part],
): Promise<Catalogue[Part]> {
  if (language === 'en') return english
  return catalogues[language]().then(
    (all) => all[part],
    () => english,
  )
}

/** The texts that the page needs from the start. `later` has those of views that load when they are shown. */
export const say: Words = await inLanguage('first', en)

type Part = ComponentChildren | ((inside: string) => ComponentChildren)

const usual: Record<string, Part> = {
  b: (inside) => h('strong', null, inside),
  kbd: (inside) => h('kbd', null, inside),
}

/** Replaces `<name>inside</name>` and `<name/>` in a text by the part with this name. `b` and `kbd` are built in. */
export function fill(text: string, parts: Record<string, Part> = {}): ComponentChildren[] {
  return text.split(/(<\w+>[^<]*<\/\w+>|<\w+\/>)/).map((piece) => {
    const [, name = '', inside = ''] = /^<(\w+)\/?>([^<]*)/.exec(piece) ?? []
    const part = parts[name] ?? usual[name]
    return part === undefined ? piece : typeof part === 'function' ? part(inside) : part
  })
}
