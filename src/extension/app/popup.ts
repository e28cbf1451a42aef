/** The popup: how things are, and what needs the user. */

import {
  describe,
  describeDeletes,
  describeRefused,
  describeTime,
  describeUnsent,
  fewTitles,
  type Situation,
  shortened,
} from './describe.ts'
import { act, ask, attempt, element, made } from './page.ts'
import { type Held, platform, type WorkerState } from './platform.ts'
import { changeAddress, originsOf } from './settings.ts'
import { text } from './text.ts'

let isPaused = false
let forbidden = ''
let shown = ''

act('set-up', 'click', () => platform.tabs.create({ url: platform.runtime.getURL('start.html') }))
// At once: a browser shows its question only right after the click.
act('allow', 'click', () => platform.permissions.request({ origins: originsOf(forbidden) }))
act('move', 'click', changeAddress)
act('options', 'click', async () => platform.runtime.openOptionsPage())
act('sync-now', 'click', async () => show(await ask({ ask: 'sync-now' })))
element('details').addEventListener('toggle', () => attempt(explain))
act('copy', 'click', async () => {
  await navigator.clipboard.writeText(element<HTMLTextAreaElement>('explained').value)
  element('copy').textContent = text('copied')
})
act('pause', 'click', async () => show(await ask({ ask: isPaused ? 'resume' : 'pause' })))

for (;;) {
  await ask({ ask: 'held' }).then(show, showSilence)
  await new Promise((resolve) => setTimeout(resolve, 1000))
}

function show({ state, held = { browser: [], devices: [] } }: { state?: WorkerState; held?: Held }): void {
  if (!state || shown === JSON.stringify([state, held])) return
  shown = JSON.stringify([state, held])
  const { setup, sync } = state
  isPaused = state.isPaused
  forbidden = state.forbidden ?? ''
  const isOut = setup === 'new' || setup === 'locked' || sync?.state === 'signed-out'
  showSituation(describe(state))
  const lacksKeys = sync?.reason === 'keys'
  element('allow').hidden = !forbidden || isPaused
  element('set-up').hidden = !!forbidden || (!isOut && !lacksKeys)
  element('set-up').textContent = text(setup === 'new' ? 'setUp' : lacksKeys && !isOut ? 'openVault' : 'signIn')
  element('sync-now').hidden = !!forbidden || setup === 'new' || setup === 'locked' || isPaused || lacksKeys
  element('move').hidden = isPaused || sync?.state !== 'offline' || sync.reason !== 'network'
  element('pause').hidden = isOut || setup === 'failed'
  element('pause').textContent = text(isPaused ? 'goOn' : 'pause')
  element('pause').className = isPaused ? 'main' : ''
  const figures = {
    ...(sync?.lastSync && { [text('lastSync')]: describeTime(sync.lastSync) }),
    ...(sync?.waiting && { [text('waiting')]: sync.waiting.toLocaleString() }),
  }
  element('figures').replaceChildren(...pairs(figures))
  showCards(wishesOf(state, held))
}

/** Replaces only what differs: a press goes on, and so does the reading of a screen reader. */
function showCards(cards: HTMLElement[]): void {
  const list = element('wishes')
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

async function explain(): Promise<void> {
  const { explained } = await ask({ ask: 'explain' })
  element<HTMLTextAreaElement>('explained').value = JSON.stringify(explained, null, 2)
  element('copy').textContent = text('copy')
}

/** The worker does not answer, and never has. */
function showSilence({ message }: Error): void {
  if (shown === '') showSituation({ headline: text('stoppedHeadline'), detail: message, mood: 'needs' })
}

function showSituation({ headline, detail = '', mood, progress }: Situation): void {
  element('headline').textContent = headline
  element('headline').dataset.mood = mood
  element('detail').textContent = detail
  const bar = element<HTMLProgressElement>('progress')
  bar.hidden = progress === undefined
  bar.max = progress?.total ?? 1
  bar.value = progress?.done ?? 0
}

function wishesOf({ sync, conflicts, refused }: WorkerState, held: Held): HTMLElement[] {
  const deletes = (['browser', 'devices'] as const)
    .filter((side) => held[side].length > 0)
    .map((side) => {
      const ids = held[side].map(({ id }) => id)
      const titles = held[side].map(({ title }) => title)
      return card([made('p', {}, describeDeletes(titles, side)), ...listOf(titles)], ids, {
        [text('deleteEverywhere')]: () => ask({ ask: 'decide', side, deletes: true, ids }),
        [text('putThemBack')]: () => ask({ ask: 'decide', side, deletes: false, ids }),
      })
    })
  const lost = conflicts.map((conflict) =>
    card([made('p', {}, text('changedTwice')), lostAndKept(conflict.mine, conflict.theirs)], conflict, {
      [text('takeMine')]: () => ask({ ask: 'resolve', conflict, choice: 'mine' }),
      [text('keepTheirs')]: () => ask({ ask: 'resolve', conflict, choice: 'theirs' }),
    }),
  )
  const unsent = sync?.quarantined
    ? [
        card([made('p', {}, describeUnsent(sync.quarantined, sync.reason))], null, {
          [text('tryAgain')]: () => ask({ ask: 'retry' }),
        }),
      ]
    : []
  const untaken = refused.map((one) => card([made('p', {}, describeRefused(one))], null, {}))
  return [...deletes, ...lost, ...unsent, ...untaken]
}

function lostAndKept(mine: string, theirs: string): HTMLElement {
  const sides = {
    [text('here')]: shortened(mine) || text('deleted'),
    [text('elsewhere')]: shortened(theirs) || text('deleted'),
  }
  return made('dl', {}, ...pairs(sides))
}

function pairs(values: Record<string, string>): HTMLElement[] {
  return Object.entries(values).flatMap(([name, value]) => [made('dt', {}, name), made('dd', {}, value)])
}

/** All of them, where the sentence names some. */
function listOf(titles: string[]): HTMLElement[] {
  if (titles.length <= fewTitles) return []
  const lines = titles.map((title) => made('li', {}, shortened(title)))
  return [made('details', {}, made('summary', {}, text('allOfThem')), made('ul', {}, ...lines))]
}

/** @param about what the choices are about, besides what the content shows */
function card(content: HTMLElement[], about: unknown, choices: Record<string, () => Promise<object>>): HTMLElement {
  const buttons = Object.entries(choices).map(([name, choose]) =>
    made('button', { onclick: () => attempt(async () => show(await choose())) }, name),
  )
  const rows = buttons.length > 0 ? [made('div', { className: 'row' }, ...buttons)] : []
  const card = made('div', { className: 'card' }, ...content, ...rows)
  card.dataset.shows = JSON.stringify([card.textContent, about])
  return card
}
