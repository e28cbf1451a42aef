/** The browsing history on the pages: the list by day in the popup, and its settings. */
import { readSites } from '../visits/address.ts'
import type { FoundPage } from '../visits/find.ts'
import { describeTime } from './describe.ts'
import { act, ask, attempt, element, made } from './page.ts'
import { platform, type ShownVisits, type VisitAct } from './platform.ts'
import { removePermissions, sentData } from './settings.ts'
import { text } from './text.ts'

const permissions = ['history']

async function askVisits(act?: VisitAct): Promise<ShownVisits | undefined> {
  const { visits } = await ask({ ask: 'visits', ...(act && { act }) })
  return visits
}

/** Fills the popup's list when it is first opened, at each later opening or closing, and as the person types. */
export async function openVisitsList(): Promise<void> {
  const words = element<HTMLInputElement>('visits-words')
  const find = async () => {
    const sought = words.value
    const { pages = [] } = (await askVisits({ do: 'find', words: sought })) ?? {}
    if (words.value === sought) showPages(pages)
  }
  words.addEventListener('input', () => attempt(find))
  element('visits').addEventListener('toggle', () => attempt(find))
  await find()
}

function showPages(pages: readonly FoundPage[]): void {
  const byDay = Map.groupBy(pages, ({ dateVisited = '' }) => new Date(dateVisited).toDateString())
  const days = [...byDay].flatMap(([day, ofDay]) => [
    made('h2', {}, new Date(day).toLocaleDateString(undefined, { dateStyle: 'full' })),
    made('ul', { className: 'plain' }, ...ofDay.map(line)),
  ])
  element('visits-list').replaceChildren(...(days.length > 0 ? days : [made('p', {}, text('visitsNone'))]))
}

function line({ url, title, dateVisited = '' }: FoundPage): HTMLElement {
  const time = new Date(dateVisited).toLocaleTimeString(undefined, { timeStyle: 'short' })
  const link = made('a', { href: url, target: '_blank', rel: 'noreferrer', title: url }, title || url)
  return made('li', {}, made('span', { className: 'quiet' }, time), ' ', link)
}

/** Fills the settings page's part about the history, and handles its buttons. */
export async function openVisitsSettings(): Promise<void> {
  // Asks immediately: a browser shows its permission prompt only right after a click.
  act('visits-on', 'click', async () => {
    if (await platform.permissions.request({ permissions, ...sentData() }))
      showSettings(await askVisits({ do: 'turn-on' }))
  })
  act('visits-off', 'click', () => turnOff(false))
  act('visits-erase', 'click', () => turnOff(true))
  act('visits-hour', 'click', async () => showSettings(await askVisits({ do: 'pause', forHours: 1 })))
  act('visits-pause', 'click', async () => showSettings(await askVisits({ do: 'pause' })))
  act('visits-resume', 'click', async () => showSettings(await askVisits({ do: 'resume' })))
  act('visits-form', 'submit', async () => {
    const keptDays = Number(element<HTMLSelectElement>('visits-days').value)
    const { sites, unread } = readSites(element<HTMLTextAreaElement>('visits-sites').value)
    if (unread.length > 0) throw new Error(text('visitsNoSites', unread.join(', ')))
    showSettings(await askVisits({ do: 'change', keptDays, sites }))
    element('visits-saved').textContent = text('visitsSaved')
  })
  showSettings(await askVisits())
}

async function turnOff(erases: boolean): Promise<void> {
  const { isErasureUnsent } = await ask({ ask: 'visits', act: { do: 'turn-off', erases } })
  await removePermissions(permissions, 'tabs')
  showSettings(undefined)
  if (isErasureUnsent) throw new Error(text('visitsEraseWaits'))
}

function showSettings(visits: ShownVisits | undefined): void {
  element('visits-start').hidden = visits !== undefined
  element('visits-form').hidden = visits === undefined
  if (!visits) return
  const { keptDays, sites, count, isCatchingUp, pausedUntil } = visits
  const stored = text(isCatchingUp ? 'visitsCatchingUp' : 'visitsCount', count.toLocaleString())
  const paused = pausedUntil ? text('visitsPausedUntil', describeTime(pausedUntil)) : text('visitsPaused')
  element('visits-state').textContent = pausedUntil === undefined ? stored : `${stored} ${paused}`
  for (const id of ['visits-hour', 'visits-pause']) element(id).hidden = pausedUntil !== undefined
  element('visits-resume').hidden = pausedUntil === undefined
  element<HTMLSelectElement>('visits-days').value = `${keptDays}`
  element<HTMLTextAreaElement>('visits-sites').value = sites.join('\n')
  element('visits-saved').textContent = ''
}
