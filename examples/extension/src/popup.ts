/** The popup: how things are, and what needs the user. */
import { act, ask, element } from './ask.ts'
import { describe, describeDeletes, describeUnsent } from './describe.ts'
import type { Held, WorkerState } from './messages.ts'
import { platform } from './platform.ts'

let isPaused = false
let shown = ''

act('set-up', 'click', () => platform.tabs.create({ url: platform.runtime.getURL('start.html') }))
act('options', 'click', async () => platform.runtime.openOptionsPage())
act('sync-now', 'click', async () => show(await ask({ ask: 'sync-now' })))
act('pause', 'click', async () => show(await ask({ ask: isPaused ? 'resume' : 'pause' })))

for (;;) {
  await ask({ ask: 'held' }).then(show, () => {})
  await new Promise((resolve) => setTimeout(resolve, 1000))
}

function show({ state, held = { browser: [], devices: [] } }: { state?: WorkerState; held?: Held }): void {
  if (!state || shown === JSON.stringify([state, held])) return
  shown = JSON.stringify([state, held])
  const { setup, sync } = state
  isPaused = state.isPaused
  const isOut = setup !== 'ready' || sync?.state === 'signed-out'
  element('headline').textContent = describe(state)
  const lacksKeys = sync?.reason === 'keys'
  element('set-up').hidden = !isOut && !lacksKeys
  element('set-up').textContent = lacksKeys && !isOut ? 'Open the vault' : 'Set up'
  element('sync-now').hidden = isOut || isPaused || lacksKeys
  element('pause').hidden = isOut
  element('pause').textContent = isPaused ? 'Go on' : 'Pause'
  const figures = {
    ...(sync?.lastSync && { 'Last sync': new Date(sync.lastSync).toLocaleString() }),
    ...(sync?.waiting && { 'Waiting to be sent': String(sync.waiting) }),
  }
  element('figures').replaceChildren(
    ...Object.entries(figures).flatMap(([name, value]) => [made('dt', name), made('dd', value)]),
  )
  element('wishes').replaceChildren(...wishesOf(state, held))
}

function wishesOf({ sync, conflicts, refused }: WorkerState, held: Held): HTMLElement[] {
  const deletes = (['browser', 'devices'] as const)
    .filter((side) => held[side].length > 0)
    .map((side) => {
      const ids = held[side].map(({ id }) => id)
      const titles = held[side].map(({ title }) => title)
      return card(describeDeletes(titles, side), {
        'Delete them everywhere': () => ask({ ask: 'decide', side, deletes: true, ids }),
        'Put them back': () => ask({ ask: 'decide', side, deletes: false, ids }),
      })
    })
  const lost = conflicts.map(({ id, mine, theirs }) =>
    card(`Changed twice. Here: ${mine || 'deleted'}. Elsewhere: ${theirs || 'deleted'}`, {
      'Take the one from here': () => ask({ ask: 'resolve', id, choice: 'mine' }),
      'Keep the other one': () => ask({ ask: 'resolve', id, choice: 'theirs' }),
    }),
  )
  const unsent = sync?.quarantined
    ? [card(describeUnsent(sync.quarantined, sync.reason), { 'Try again': () => ask({ ask: 'retry' }) })]
    : []
  const untaken = refused.map(({ title, by, message }) =>
    card(`${by === 'browser' ? 'This browser' : 'The server'} does not take “${title}”: ${message}`, {}),
  )
  return [...deletes, ...lost, ...unsent, ...untaken]
}

function card(text: string, choices: Record<string, () => Promise<object>>): HTMLElement {
  const box = made('div', '')
  box.className = 'card'
  const buttons = Object.entries(choices).map(([name, choose]) => {
    const button = made('button', name)
    button.addEventListener('click', async () => show(await choose()))
    return button
  })
  const row = made('div', '')
  row.className = 'row'
  row.append(...buttons)
  box.append(made('p', text), ...(buttons.length > 0 ? [row] : []))
  return box
}

function made(name: string, text: string): HTMLElement {
  const made = document.createElement(name)
  made.textContent = text
  return made
}
