/** The search over all pages, loaded when it is opened. */
import MiniSearch from 'minisearch'
import type { Place } from '../search.ts'

const most = 20
let opened: Promise<HTMLDialogElement> | undefined

export async function openSearch(): Promise<void> {
  opened ??= makeDialog().catch((error) => {
    // The next press tries again.
    opened = undefined
    throw error
  })
  const dialog = await opened
  if (!dialog.open) dialog.showModal()
  dialog.querySelector('input')?.select()
}

async function makeDialog(): Promise<HTMLDialogElement> {
  const places = (await (await fetch('search.json')).json()) as Place[]
  const index = new MiniSearch<Place>({
    idField: 'page',
    fields: ['heading', 'title', 'text'],
    storeFields: ['page', 'title', 'heading', 'text'],
    searchOptions: {
      prefix: true,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      boost: { heading: 4, title: 3 },
      // Guides come before fields and methods of the client package, which have the same words.
      boostDocument: (page) => (/^api.*#.*\./.test(page) ? 0.4 : 1),
    },
  })
  index.addAll(places)

  const dialog = document.createElement('dialog')
  dialog.className = 'search'
  dialog.ariaLabel = 'Search'
  const input = document.createElement('input')
  input.type = 'search'
  input.placeholder = 'Guides, operations, functions …'
  input.ariaLabel = 'Search the documents'
  const status = document.createElement('p')
  status.role = 'status'
  const results = document.createElement('ol')
  dialog.append(input, status, results)

  input.addEventListener('input', () => {
    const found = find(index, input.value)
    results.replaceChildren(...found.slice(0, most).map(({ place, terms }) => resultItem(place, terms)))
    status.textContent = input.value.trim() === '' ? '' : inWords(found.length)
  })
  dialog.addEventListener('keydown', (event) => moveAlong(event, input, [...results.querySelectorAll('a')]))
  dialog.addEventListener('click', (event) => {
    const isOutside = event.target === dialog
    if (isOutside || (event.target as Element).closest('a')) dialog.close()
  })
  document.body.append(dialog)
  return dialog
}

interface Found {
  place: Place
  terms: string[]
}

/** What has all words, or else what has most of them. */
function find(index: MiniSearch<Place>, query: string): Found[] {
  const all = index.search(query, { combineWith: 'AND' })
  const found = all.length > 0 ? all : index.search(query)
  return found.map((result) => ({ place: result as unknown as Place, terms: result.terms }))
}

function inWords(count: number): string {
  if (count === 0) return 'Nothing found.'
  return count > most ? `The first ${most} of ${count}` : `${count} found`
}

function resultItem({ page, title, heading, text }: Place, terms: string[]): HTMLLIElement {
  const link = document.createElement('a')
  link.href = page
  const name = document.createElement('strong')
  name.textContent = heading || title
  const where = document.createElement('small')
  where.textContent = heading ? title : ''
  const excerpt = document.createElement('span')
  excerpt.append(...marked(text, terms))
  link.append(name, ' ', where, excerpt)
  const item = document.createElement('li')
  item.append(link)
  return item
}

/** The text around the first of the words, with all of them marked. */
function marked(text: string, terms: string[]): (string | HTMLElement)[] {
  const words = terms.map((term) => term.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).sort((a, b) => b.length - a.length)
  const pattern = new RegExp(`(${words.join('|')})`, 'giu')
  const at = Math.max(0, text.search(pattern))
  const start = at < 60 ? 0 : text.indexOf(' ', at - 60)
  const shown = `${start > 0 ? '…' : ''}${text.slice(start, start + 180)}${text.length > start + 180 ? '…' : ''}`
  return shown.split(pattern).map((part, index) => {
    if (index % 2 === 0) return part
    const mark = document.createElement('mark')
    mark.textContent = part
    return mark
  })
}

/** Arrow keys move between the field and the results, Enter in the field opens the first. */
function moveAlong(event: KeyboardEvent, input: HTMLInputElement, links: HTMLAnchorElement[]): void {
  const stops = [input, ...links]
  const at = stops.indexOf(document.activeElement as HTMLInputElement)
  if (event.key === 'Enter' && at === 0) links[0]?.click()
  else if (event.key === 'ArrowDown') stops[Math.min(at + 1, stops.length - 1)]?.focus()
  else if (event.key === 'ArrowUp') stops[Math.max(at - 1, 0)]?.focus()
  else return
  event.preventDefault()
}
