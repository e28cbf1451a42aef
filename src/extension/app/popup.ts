/** The popup: how things are, and what needs the user. */

import { accountCards, allOf, card, clearedCards, copiesCards, showCards } from './cards.ts'
import {
  describe,
  describeDeletes,
  describeRefused,
  describeTime,
  describeUnsent,
  type Situation,
  shortened,
} from './describe.ts'
import { act, ask, attempt, element, made } from './page.ts'
import { type Answer, type Held, platform, type Question, type WorkerState } from './platform.ts'
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
onFirstLook('groups', async () => (await import('./groups.ts')).showGroups())
act('copy', 'click', async () => {
  await navigator.clipboard.writeText(element<HTMLTextAreaElement>('explained').value)
  element('copy').textContent = text('copied')
})
onFirstLook('visits', async () => (await import('./visits.ts')).openVisitsList())
act('pause', 'click', async () => show(await ask({ ask: isPaused ? 'resume' : 'pause' })))

for (;;) {
  await ask({ ask: 'held' }).then(show, showSilence)
  await new Promise((resolve) => setTimeout(resolve, 1000))
}

/** For parts that are loaded when they are looked at, so the popup opens as fast as without them. */
function onFirstLook(part: string, open: () => Promise<void>): void {
  element(part).addEventListener('toggle', () => attempt(open), { once: true })
}

async function show({ state, held = { browser: [], devices: [] }, copies = [], visits }: Answer): Promise<void> {
  const next = JSON.stringify([state, held, copies, visits])
  if (!state || shown === next) return
  shown = next
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
  element('visits').hidden = !visits
  const inAccount = await accountCards(state)
  if (shown === next)
    showCards([...copiesCards(copies, show), ...clearedCards({ visits }, show), ...wishesOf(state, held), ...inAccount])
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
      return card([made('p', {}, describeDeletes(titles, side)), ...allOf(titles.map(shortened))], ids, {
        [text('deleteEverywhere')]: answer({ ask: 'decide', side, deletes: true, ids }),
        [text('putThemBack')]: answer({ ask: 'decide', side, deletes: false, ids }),
      })
    })
  const lost = conflicts.map((conflict) =>
    card([made('p', {}, text('changedTwice')), lostAndKept(conflict.mine, conflict.theirs)], conflict, {
      [text('takeMine')]: answer({ ask: 'resolve', conflict, choice: 'mine' }),
      [text('keepTheirs')]: answer({ ask: 'resolve', conflict, choice: 'theirs' }),
    }),
  )
  const unsent = sync?.quarantined
    ? [
        card([made('p', {}, describeUnsent(sync.quarantined, sync.reason))], null, {
          [text('tryAgain')]: answer({ ask: 'retry' }),
        }),
      ]
    : []
  const untaken = refused.map((one) => card([made('p', {}, describeRefused(one))], null, {}))
  return [...deletes, ...lost, ...unsent, ...untaken]
}

function answer(question: Question) {
  return async () => show(await ask(question))
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
