/** The popup: the sync's state, and what needs the user. */

import { describe, describeTime, type Situation } from './describe.ts'
import { act, ask, attempt, element, pairs } from './page.ts'
import { type Answer, platform } from './platform.ts'
import { changeAddress, originsOf } from './settings.ts'
import { text } from './text.ts'

let isPaused = false
let forbidden = ''
let shown = ''

act('set-up', 'click', () => platform.tabs.create({ url: platform.runtime.getURL('start.html') }))
// Asks immediately: a browser shows its permission prompt only right after a click.
act('allow', 'click', () => platform.permissions.request({ origins: originsOf(forbidden) }))
act('move', 'click', changeAddress)
act('options', 'click', async () => platform.runtime.openOptionsPage())
act('sync-now', 'click', async () => show(await ask({ ask: 'sync-now' })))
element('details').addEventListener('toggle', () => attempt(explain))
onFirstOpen('groups', async () => (await import('./groups.ts')).showGroups())
act('copy', 'click', async () => {
  await navigator.clipboard.writeText(element<HTMLTextAreaElement>('explained').value)
  element('copy').textContent = text('copied')
})
onFirstOpen('visits', async () => (await import('./visits.ts')).openVisitsList())
act('pause', 'click', async () => show(await ask({ ask: isPaused ? 'resume' : 'pause' })))

for (;;) {
  await ask({ ask: 'held' }).then(show, showSilence)
  await new Promise((resolve) => setTimeout(resolve, 1000))
}

/** Loads a part when the user opens it, so that the popup itself opens fast. */
function onFirstOpen(part: string, open: () => Promise<void>): void {
  element(part).addEventListener('toggle', () => attempt(open), { once: true })
}

async function show(answer: Answer): Promise<void> {
  const { state, held, copies, visits } = answer
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
  // The reason is `service` also if the address redirects, for example to the service's new one.
  const isUnreached = sync?.reason === 'network' || sync?.reason === 'service'
  element('move').hidden = isPaused || sync?.state !== 'offline' || !isUnreached
  element('pause').hidden = isOut || setup === 'failed'
  element('pause').textContent = text(isPaused ? 'goOn' : 'pause')
  element('pause').className = isPaused ? 'main' : ''
  const figures = {
    ...(sync?.lastSync && { [text('lastSync')]: describeTime(sync.lastSync) }),
    ...(sync?.waiting && { [text('waiting')]: sync.waiting.toLocaleString() }),
  }
  element('figures').replaceChildren(...pairs(figures))
  element('visits').hidden = !visits
  // Loads the cards only now, so that the state is painted first.
  const { cardsOf, showCards } = await import('./popup-cards.ts')
  const cards = await cardsOf(state, answer, show)
  if (shown === next) showCards(cards)
}

async function explain(): Promise<void> {
  const { explained } = await ask({ ask: 'explain' })
  element<HTMLTextAreaElement>('explained').value = JSON.stringify(explained, null, 2)
  element('copy').textContent = text('copy')
}

/** Shows the error if the worker has never answered since the popup opened. */
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
