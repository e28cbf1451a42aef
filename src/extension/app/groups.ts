/** The popup's part about tab groups: saves open tabs, and lists the saved groups. */
import type { Saved, SavedGroup } from '../groups/tab-groups.ts'
import { card, showCards } from './cards.ts'
import { shortened } from './describe.ts'
import { ask, attempt, element, made } from './page.ts'
import { type GroupAct, platform, type ShownGroups } from './platform.ts'
import { groupsPermissions, removePermissions, sentData } from './settings.ts'
import { text } from './text.ts'

const refreshMs = 1000
/** The most tabs that are opened without a question. */
const maxWithoutAsking = 15

const name = made('input', { required: true, autocomplete: 'off' })
const search = made('input', { type: 'search' })
const notes = made('div', {})
const list = made('div', {})
/** The state that is displayed, as JSON. */
let shown = ''
/** The group that is being renamed, or whose delete or opening waits for confirmation. */
let asked: { id: string; about: 'rename' | 'remove' | 'open' | 'open in window' } | undefined

/** Fills the popup's part about tab groups, and keeps it up to date while it is open. */
export async function showGroups(): Promise<void> {
  search.addEventListener('input', () => attempt(refresh))
  await refresh()
  setInterval(() => {
    if (element<HTMLDetailsElement>('groups').open) void refresh().catch(() => {})
  }, refreshMs)
}

async function refresh(act?: GroupAct): Promise<void> {
  const { groups } = await ask({ ask: 'groups', ...(act && { act }) })
  if (groups?.isTooLarge && act?.do === 'open')
    asked = { id: act.id, about: act.inNewWindow ? 'open in window' : 'open' }
  show(groups)
}

function show(groups: ShownGroups | undefined): void {
  const next = JSON.stringify([groups, search.value, asked])
  if (next === shown) return
  shown = next
  const body = element('groups-body')
  if (!groups) {
    body.replaceChildren(turnOn())
    return
  }
  if (!body.contains(list))
    body.replaceChildren(saving(), made('label', {}, text('searchGroups'), search), notes, list, turnOff())
  const { refused, failed } = groups
  const words = search.value.toLocaleLowerCase().split(/\s+/)
  const found = groups.list.filter((group) => contains(group, words))
  const lines = [
    ...(failed.length > 0 ? [text('notOpened', failed.length, shortened(failed.join(', ')))] : []),
    ...(refused.length > 0 ? [text('tooLongTabs', refused.length, shortened(refused.join(', ')))] : []),
    ...(groups.list.length === 0 ? [text('noGroups')] : []),
  ]
  notes.replaceChildren(...lines.map((line) => made('p', { className: 'quiet' }, line)))
  showCards(found.map(groupCard), list)
}

/** Asks immediately: a browser shows its permission prompt only right after a click. */
function turnOn(): HTMLElement {
  return card([made('p', {}, text('groupsHint'))], null, {
    [text('turnOnGroups')]: () => platform.permissions.request({ ...groupsPermissions(), ...sentData() }),
  })
}

function turnOff(): HTMLElement {
  return card([made('p', {}, text('groupsOffHint'))], null, {
    [text('turnOffGroups')]: () => removePermissions(groupsPermissions().permissions, 'history'),
  })
}

function saving(): HTMLElement {
  const ways: Record<Saved, string> = { group: text('saveGroup'), window: text('saveWindow'), tabs: text('saveTabs') }
  const buttons = Object.entries(ways).map(([what, words]) => made('button', { value: what }, words))
  return made(
    'form',
    {
      onsubmit: (event) => {
        event.preventDefault()
        const { value } = event.submitter as HTMLButtonElement
        void attempt(async () => {
          await refresh({ do: 'save', what: value as Saved, title: name.value.trim() })
          name.value = ''
        })
      },
    },
    made('label', {}, text('groupName'), name),
    made('div', { className: 'row' }, ...buttons),
  )
}

function contains({ title, tabs }: SavedGroup, words: readonly string[]): boolean {
  const all = [title, ...tabs.flatMap((tab) => [tab.title, tab.url])].join(' ').toLocaleLowerCase()
  return words.every((word) => all.includes(word))
}

function groupCard(group: SavedGroup): HTMLElement {
  const { id, title, color, tabs, isOpen, isScattered, isAlike, differs } = group
  const dot = made('span', { className: 'dot' })
  dot.style.background = color
  const state = isOpen ? text('openHere') : isScattered ? text('wasScattered') : isAlike ? text('isAlike') : ''
  const content = [
    made(
      'p',
      {},
      dot,
      made('b', {}, shortened(title) || text('unnamedGroup')),
      ` ${text('tabCount', tabs.length)} ${state}`,
    ),
    ...(differs ? [made('p', {}, text('groupDiffers', differs.opens, differs.closes, differs.changes))] : []),
    ...(asked?.id === id && asked.about === 'rename' ? [renaming(group)] : []),
    tabList(group),
  ]
  return card(content, [group, asked?.id === id && asked.about], choices(group))
}

function choices(group: SavedGroup): Record<string, () => Promise<unknown>> {
  const { id, tabs, isOpen, isScattered, isAlike, differs } = group
  const openIt = (inNewWindow: boolean, most = maxWithoutAsking): GroupAct => ({ do: 'open', id, inNewWindow, most })
  if (asked?.id === id && asked.about !== 'rename') {
    const act: GroupAct =
      asked.about === 'remove' ? { do: 'remove', id } : openIt(asked.about === 'open in window', tabs.length)
    return {
      [asked.about === 'remove' ? text('deleteGroupForGood') : text('openMany', tabs.length)]: () => finish(act),
      [text('cancel')]: () => finish(),
    }
  }
  const open = text(isOpen ? 'goToGroup' : isScattered ? 'putBack' : 'openGroup')
  return {
    ...(differs && {
      [text('updateGroup')]: () => refresh({ do: 'update', id }),
      [text('keepGroup')]: () => refresh({ do: 'keep', id }),
    }),
    ...(isAlike && { [text('followGroup')]: () => refresh({ do: 'follow', id }) }),
    [open]: () => refresh(openIt(false)),
    ...(isOpen
      ? { [text('closeGroup')]: () => refresh({ do: 'close', id }) }
      : { [text('openInWindow')]: () => refresh(openIt(true)) }),
    [text('rename')]: () => begin(id, 'rename'),
    [text('deleteGroup')]: () => begin(id, 'remove'),
  }
}

function begin(id: string, about: NonNullable<typeof asked>['about']): Promise<void> {
  asked = { id, about }
  return refresh()
}

function finish(act?: GroupAct): Promise<void> {
  asked = undefined
  return refresh(act)
}

function renaming({ id, title }: SavedGroup): HTMLElement {
  const input = made('input', { value: title, required: true, ariaLabel: text('groupName') })
  queueMicrotask(() => input.focus())
  const onsubmit = (event: Event) => {
    event.preventDefault()
    void attempt(() => finish({ do: 'rename', id, title: input.value.trim() }))
  }
  return made('form', { onsubmit }, input)
}

/** Filled when the person unfolds it, because a group may have hundreds of tabs. */
function tabList({ tabs }: SavedGroup): HTMLElement {
  const details = made('details', {}, made('summary', {}, text('allOfThem')))
  const fill = () => {
    const lines = tabs.map(({ id, title, url, canOpen }) => {
      const onclick = () => attempt(() => refresh({ do: 'open-tab', id }))
      const words = shortened(title || url)
      return canOpen
        ? made('li', {}, made('button', { type: 'button', className: 'link', title: url, onclick }, words))
        : made('li', {}, `${words} `, made('span', { className: 'quiet' }, text('onlyThere', shortened(url))))
    })
    details.append(made('ul', {}, ...lines))
  }
  details.addEventListener('toggle', fill, { once: true })
  return details
}
