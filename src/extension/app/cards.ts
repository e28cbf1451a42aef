/** Questions to the user, shown as cards in the popup and on the first-run page. */
import type { Copy } from '../index.ts'
import { copyFromAccount, findInAccount } from './account-folders.ts'
import { maxTitles, shortened } from './describe.ts'
import { ask, attempt, element, made } from './page.ts'
import type { Answer, WorkerState } from './platform.ts'
import { text } from './text.ts'

/** Replaces only cards that differ, so that a click or a screen reader is not interrupted. */
export function showCards(cards: HTMLElement[], list = element('cards')): void {
  const nth = [...list.querySelectorAll('button')].indexOf(document.activeElement as HTMLButtonElement)
  const shows = new Set(cards.map(({ dataset }) => dataset.shows))
  for (const card of [...list.children] as HTMLElement[]) if (!shows.has(card.dataset.shows)) card.remove()
  for (const [index, card] of cards.entries()) {
    const there = list.children[index] as HTMLElement | undefined
    if (there?.dataset.shows !== card.dataset.shows) list.insertBefore(card, there ?? null)
  }
  while (list.children.length > cards.length) list.lastChild?.remove()
  if (nth !== -1 && !list.contains(document.activeElement)) list.querySelectorAll('button')[nth]?.focus()
}

/**
 * @param about identifies what the choices are about, in addition to the content
 * @param choices what each button does, by its label
 */
export function card(
  content: HTMLElement[],
  about: unknown,
  choices: Record<string, () => Promise<unknown>>,
): HTMLElement {
  const buttons = Object.entries(choices).map(([name, choose]) =>
    made('button', { type: 'button', onclick: () => attempt(choose) }, name),
  )
  const rows = buttons.length > 0 ? [made('div', { className: 'row' }, ...buttons)] : []
  const card = made('div', { className: 'card' }, ...content, ...rows)
  card.dataset.shows = JSON.stringify([card.textContent, about])
  return card
}

/** Asks what to do with bookmarks that look like copies. */
export function copiesCards(copies: readonly Copy[], show: (answer: Answer) => void): HTMLElement[] {
  if (copies.length === 0) return []
  const ids = copies.map(({ id }) => id)
  const decide = (areOne: boolean) => async () => show(await ask({ ask: 'decide-copies', ids, areOne }))
  const lines = copies.map(({ here, elsewhere }) => text('copyOf', shortened(here), shortened(elsewhere)))
  const content = [
    made('p', {}, text('copiesFound', copies.length)),
    listOf(lines.slice(0, maxTitles)),
    ...allOf(lines),
    made('p', { className: 'quiet' }, text('copiesHint')),
  ]
  return [card(content, ids, { [text('makeThemOne')]: decide(true), [text('keepBoth')]: decide(false) })]
}

/** Asks whether to delete the history on other devices too, after the whole history of this browser was removed. */
export function clearedCards({ visits }: Answer, show: (answer: Answer) => void): HTMLElement[] {
  if (!visits?.isCleared) return []
  const decide = (everywhere: boolean) => async () =>
    show(await ask({ ask: 'visits', act: { do: 'answer-cleared', everywhere } }))
  const choices = { [text('deleteEverywhere')]: decide(true), [text('visitsKeepElsewhere')]: decide(false) }
  return [card([made('p', {}, text('visitsCleared'))], 'visits', choices)]
}

/** Offers to copy the bookmarks of the account that the browser's user is signed in to, once this device is in step. */
export async function accountCards({ sync, browser, roots }: WorkerState): Promise<HTMLElement[]> {
  if (browser?.state !== 'in-step' || sync?.waiting) return []
  const own = new Map(roots)
  const titles = (await findInAccount(own)).map(shortened)
  if (titles.length === 0) return []
  const content = [
    made('p', {}, text('inAccount', titles.length, titles.slice(0, maxTitles).join(', '))),
    ...allOf(titles),
    made('p', { className: 'quiet' }, text('inAccountHint')),
  ]
  return [card(content, titles, { [text('copyThem')]: () => copyFromAccount(own) })]
}

/** A list of all lines, if the text names only some of them. */
export function allOf(lines: readonly string[]): HTMLElement[] {
  return lines.length > maxTitles ? [made('details', {}, made('summary', {}, text('allOfThem')), listOf(lines))] : []
}

function listOf(lines: readonly string[]): HTMLElement {
  return made('ul', {}, ...lines.map((line) => made('li', {}, line)))
}
