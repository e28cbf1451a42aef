import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { bareAddress } from '../../client/bookmark/address.ts'
import type { Sync } from '../../client/index.ts'
import { addHere, defaultsForNew, openBookmark, openEditor, openNew } from '../library/editor.tsx'
import { Highlight, markedIn, quotedQuery, useSearched, wordsOf } from '../library/found.tsx'
import { Letter } from '../library/icon.tsx'
import { type Bookmark, hostOf, isFolder, isSafe, nameOf } from '../library/kind.ts'
import { addressIn } from '../library/links.ts'
import { foldersAround, pathText } from '../library/paths.ts'
import { countTags } from '../library/tags.tsx'
import { go } from '../session/route.ts'
import { showDialog } from '../ui/dialogs.tsx'
import { tellFailure } from '../ui/failure.ts'
import { BookmarkPlusIcon, CloseIcon, FolderIcon, FolderPlusIcon, Icon, SearchIcon, TagIcon } from '../ui/icons.tsx'
import type { MenuItem } from '../ui/menu.tsx'
import { fill, say } from '../words/words.ts'

/**
 * Shows a field for finding bookmarks and running commands.
 *
 * @param commands listed after the command bar's own, which add a bookmark or a folder
 */
export function openCommandBar(sync: Sync, commands: readonly MenuItem[]): void {
  showDialog((close) => <CommandBar sync={sync} commands={commands} close={close} />)
}

/** A condition that all found bookmarks must meet. Other records are not searched then. */
type Chip = { tag: string } | { folder: Bookmark }

interface Found {
  bookmarks: readonly Bookmark[]
  others: readonly Bookmark[]
}

const nothing: Found = { bookmarks: [], others: [] }

/** A line of the list: a hit, a suggested tag or folder, a command, or what to do with the typed text. */
interface Choice {
  key: string
  icon: ComponentChildren
  name: ComponentChildren
  /** Shown after the name in a lighter colour. */
  more?: ComponentChildren
  choose(): unknown
  /** Runs on Ctrl+Enter and Ctrl+click. */
  edit?(): void
  /** True if the bar stays open after the choice, which only adds a chip. */
  stays?: true
}

function CommandBar({ sync, commands, close }: { sync: Sync; commands: readonly MenuItem[]; close: () => void }) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [chips, setChips] = useState<readonly Chip[]>([])
  const [wanted, setMarked] = useState(0)
  /** The action to do when the hits arrive, if Enter was pressed before that. */
  const awaited = useRef<'choose' | 'edit' | undefined>(undefined)
  const search = async (signal: AbortSignal) => {
    const [bookmarks, others] = await Promise.all([
      find(sync, text, chips, signal),
      chips.length === 0 ? findOthers(sync, text, signal) : [],
    ])
    return { text, chips, bookmarks, others }
  }
  const found = useSearched(sync, search, [text, chips])
  const change = (next: string, nextChips: readonly Chip[]) => {
    setText(next)
    setChips(nextChips)
    setMarked(0)
    awaited.current = undefined
  }
  const choices = choicesFor(sync, commands, text, chips, found ?? nothing, (chip) =>
    change(text.slice(0, markIn(text)?.start), added(chips, chip)),
  )
  // The list may have become shorter, for example because another tab or device deleted bookmarks.
  const marked = Math.max(0, Math.min(wanted, choices.length - 1))
  useLayoutEffect(() => dialog.current?.showModal(), [])
  // The focus stays in the input, so the browser does not scroll.
  useLayoutEffect(() => document.getElementById(`${id}-${marked}`)?.scrollIntoView({ block: 'nearest' }), [marked])

  const run = (choice: Choice | undefined, how: 'choose' | 'edit') => {
    const action = how === 'edit' ? choice?.edit : choice?.choose
    if (!choice || !action) return
    if (!choice.stays) close()
    Promise.resolve(action()).catch(tellFailure)
  }
  const isCurrent = found?.text === text && found.chips === chips
  useEffect(() => {
    if (isCurrent && awaited.current) run(choices[marked], awaited.current)
    if (isCurrent) awaited.current = undefined
  }, [isCurrent])

  const press = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = steps[event.key]
    if (step !== undefined) setMarked((marked + step + choices.length) % Math.max(1, choices.length))
    else if (event.key === 'Enter' && !event.isComposing) {
      const how = event.ctrlKey || event.metaKey ? 'edit' : 'choose'
      if (isCurrent) run(choices[marked], how)
      else awaited.current = how
    } else if (event.key === 'Backspace' && text === '' && chips.length > 0) change('', chips.slice(0, -1))
    else return
    event.preventDefault()
  }

  return (
    <dialog
      ref={dialog}
      class="dialog command-bar"
      aria-label={say.commandBar.label}
      onClose={close}
      // A click outside closes it.
      closedby="any"
    >
      <div class="command-bar-head">
        <Icon of={SearchIcon} />
        {chips.map((chip) => (
          <button
            key={chipName(chip)}
            type="button"
            class="tag removable"
            aria-label={say.commandBar.remove(chipName(chip))}
            onClick={() => {
              change(
                text,
                chips.filter((other) => other !== chip),
              )
              dialog.current?.querySelector('input')?.focus()
            }}
          >
            {chipName(chip)}
            <Icon of={CloseIcon} />
          </button>
        ))}
        <input
          role="combobox"
          autofocus
          dir="auto"
          autocomplete="off"
          aria-label={say.commandBar.hint}
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={choices.length > 0 ? `${id}-${marked}` : undefined}
          placeholder={chips.length === 0 ? say.commandBar.hint : ''}
          value={text}
          onInput={({ currentTarget: { value } }) => {
            const chip = value.endsWith(' ') ? endedTag(sync, markIn(value.slice(0, -1))?.tag) : undefined
            if (chip) change(value.slice(0, value.lastIndexOf('#')), added(chips, chip))
            else change(value, chips)
          }}
          onKeyDown={press}
        />
      </div>
      <div class="command-bar-list" id={`${id}-list`} role="listbox" aria-label={say.commandBar.found}>
        {choices.map((choice, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: The focus stays in the input, which names the marked option.
          // biome-ignore lint/a11y/useKeyWithClickEvents: The input has the keys.
          <div
            key={choice.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === marked}
            onPointerDown={(event) => event.preventDefault()}
            onPointerMove={() => setMarked(index)}
            onClick={(event) => run(choice, (event.ctrlKey || event.metaKey) && choice.edit ? 'edit' : 'choose')}
          >
            {choice.icon}
            <span class="command-bar-name" dir="auto">
              {choice.name}
            </span>
            {choice.more && <span class="hint">{choice.more}</span>}
          </div>
        ))}
      </div>
      <p class="hint command-bar-foot" role="status">
        {isCurrent && choices.length === 0 ? `${say.commandBar.nothingFound} ` : ''}
        <span aria-hidden="true">{fill(say.commandBar.keys)}</span>
      </p>
    </dialog>
  )
}

const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
const maxShown = 40
const maxLatest = 8
const maxSuggested = 8
/** The most hits shown among tab groups and their tabs, and the most in the history. */
const maxOthers = 5
const quotes = /["“”„«»]/g

/** Finds the unfinished `#tag` or `in:folder` at the end of the text. Names of folders may contain spaces. */
function markIn(text: string): { start: number; tag?: string; folder?: string } | undefined {
  const lastWord = text.lastIndexOf(' ') + 1
  if (text[lastWord] === '#') return { start: lastWord, tag: text.slice(lastWord + 1) }
  const start = ` ${text}`.toLowerCase().lastIndexOf(' in:')
  return start === -1 ? undefined : { start, folder: text.slice(start + 'in:'.length).replaceAll(quotes, '') }
}

function added(chips: readonly Chip[], chip: Chip): readonly Chip[] {
  return [...chips.filter((other) => chipName(other) !== chipName(chip)), chip]
}

function chipName(chip: Chip): string {
  return 'tag' in chip ? `#${chip.tag}` : say.commandBar.inFolder(nameOf(chip.folder))
}

/** The tag that a space has just ended, if it exists. */
function endedTag(sync: Sync, typed: string | undefined): Chip | undefined {
  const tag = typed && [...countTags(sync).keys()].find((tag) => tag.toLowerCase() === typed.toLowerCase())
  return tag ? { tag } : undefined
}

/** Finds bookmarks with the typed address, then the best hits; if nothing is typed, the latest bookmarks. */
async function find(sync: Sync, text: string, chips: readonly Chip[], signal: AbortSignal): Promise<Bookmark[]> {
  const fits = (bookmark: Bookmark) =>
    chips.every((chip) =>
      'tag' in chip
        ? Array.isArray(bookmark.tags) && bookmark.tags.includes(chip.tag)
        : foldersAround(sync, bookmark).some(({ id }) => id === chip.folder.id),
    )
  if (text.startsWith('>')) return []
  if (text.trim() === '') return latest(sync, chips.length > 0 ? maxShown : maxLatest, fits)
  const url = addressIn(text)
  const same = url === undefined ? [] : await sync.search({ url }, { signal })
  const limit = chips.length > 0 ? Number.POSITIVE_INFINITY : maxShown
  const best = await sync.search(text, { limit, signal })
  return [...new Set([...same, ...best])].filter(fits).slice(0, maxShown)
}

/** Finds tab groups, tabs, and entries of the history if this browser has it. */
async function findOthers(sync: Sync, text: string, signal: AbortSignal): Promise<Bookmark[]> {
  if (text.startsWith('>')) return []
  const search = ({ search }: Pick<Sync, 'search'>) => search(text, { limit: maxOthers, signal })
  return (await Promise.all([sync.groups, sync.history].map(search))).flat()
}

function latest(sync: Sync, count: number, fits: (bookmark: Bookmark) => boolean): Bookmark[] {
  const best: Bookmark[] = []
  const dateOf = ({ dateAdded }: Bookmark) => dateAdded ?? ''
  for (const bookmark of sync.bookmarks().values()) {
    const isLater = best.length < count || dateOf(bookmark) > dateOf(best.at(-1) as Bookmark)
    if (bookmark.url === undefined || !isLater || !fits(bookmark)) continue
    best.push(bookmark)
    best.sort((one, other) => (dateOf(one) < dateOf(other) ? 1 : -1))
    best.splice(count)
  }
  return best
}

function choicesFor(
  sync: Sync,
  commands: readonly MenuItem[],
  text: string,
  chips: readonly Chip[],
  { bookmarks, others }: Found,
  add: (chip: Chip) => void,
): Choice[] {
  if (text.startsWith('>')) return commandsFor(sync, commands, wordsOf(text.slice(1)))
  const { tag, folder } = markIn(text) ?? {}
  const suggested =
    tag !== undefined ? tagsFor(sync, tag, add) : folder !== undefined ? foldersFor(sync, wordsOf(folder), add) : []
  const url = addressIn(text)
  const words = markedIn(text)
  const ofOthers = others.map((record) => otherHitOf(sync, record, words))
  const hits = bookmarks.map((bookmark) => hitOf(sync, bookmark, words))
  const [first, ...rest] = hits
  const query = [...chips.map(termOf), text.trim()].join(' ').trim()
  const all: Choice = {
    key: 'all',
    icon: <Icon of={SearchIcon} />,
    name: say.commandBar.showAll(quotedQuery(query)),
    choose: () => go('search', query),
  }
  const end = text.trim() !== '' && (first || others[0]) ? [...ofOthers, all] : []
  if (url === undefined) return [...suggested, ...hits, ...end]
  const save: Choice = {
    key: 'save',
    icon: <Icon of={BookmarkPlusIcon} />,
    name: say.commandBar.save(bareAddress(url) ?? url),
    choose: () => addHere(sync, url),
  }
  // If a bookmark has the address already, it comes first.
  if (first && bareAddress(bookmarks[0]?.url) === bareAddress(url))
    return [{ ...first, more: say.commandBar.haveAlready(`${first.more}`) }, save, ...rest, ...end]
  return [save, ...hits, ...end]
}

/** Writes a condition as a search term. A term cannot contain quotes, so the longest piece without them is used. */
function termOf(chip: Chip): string {
  const pieces = ('tag' in chip ? chip.tag : nameOf(chip.folder)).split(quotes)
  const [name = ''] = pieces.toSorted((one, other) => other.length - one.length)
  return `${'tag' in chip ? '#' : 'in:'}${/\s/.test(name) ? `"${name}"` : name}`
}

function hitOf(sync: Sync, bookmark: Bookmark, words: readonly string[]): Choice {
  const { id, url = '' } = bookmark
  const path = pathText(sync, bookmark)
  const host = isFolder(bookmark) ? say.ui.folder : hostOf(bookmark) || url
  return {
    key: id,
    icon: <Letter bookmark={bookmark} />,
    name: <Highlight text={nameOf(bookmark)} words={words} />,
    more: path === '' ? host : say.commandBar.hostIn(host, path),
    choose: () => openBookmark(sync, bookmark),
    edit: () => openEditor(sync, bookmark),
  }
}

function otherHitOf(sync: Sync, record: Bookmark, words: readonly string[]): Choice {
  const { id, url, source, parentId = '' } = record
  const [name, host] = [nameOf(record), hostOf(record)]
  const group = sync.groups.get(parentId)
  const place = source === 'history' ? say.app.views.visits : group ? nameOf(group) : say.app.views.groups
  return {
    key: `${source} ${id}`,
    icon: <Letter bookmark={record} />,
    name: <Highlight text={name} words={words} />,
    more: host === '' ? place : `${host} · ${place}`,
    choose: () => (url !== undefined && isSafe(url) ? openBookmark(sync, record) : go('groups', name)),
  }
}

function tagsFor(sync: Sync, typed: string, add: (chip: Chip) => void): Choice[] {
  const [word = ''] = wordsOf(typed)
  const isStart = (tag: string) => Number(wordsOf(tag)[0]?.startsWith(word) ?? false)
  return [...countTags(sync)]
    .filter(([tag]) => wordsOf(tag).join(' ').includes(word))
    .sort(([one, ones], [other, others]) => isStart(other) - isStart(one) || others - ones)
    .slice(0, maxSuggested)
    .map(([tag, count]) => ({
      key: tag,
      icon: <Icon of={TagIcon} />,
      name: `#${tag}`,
      more: say.ui.bookmarks(count),
      choose: () => add({ tag }),
      stays: true,
    }))
}

function foldersFor(sync: Sync, words: readonly string[], add: (chip: Chip) => void): Choice[] {
  const choices: Choice[] = []
  for (const folder of sync.bookmarks().values()) {
    const folded = isFolder(folder) ? wordsOf(nameOf(folder)).join(' ') : ''
    if (folded === '' || !words.every((word) => folded.includes(word))) continue
    const [icon, choose] = [<Icon key="icon" of={FolderIcon} />, () => add({ folder })]
    choices.push({ key: folder.id, icon, name: nameOf(folder), more: pathText(sync, folder), choose, stays: true })
    if (choices.length === maxSuggested) break
  }
  return choices
}

function commandsFor(sync: Sync, others: readonly MenuItem[], words: readonly string[]): Choice[] {
  const commands: MenuItem[] = [
    { label: say.commandBar.addBookmark, icon: BookmarkPlusIcon, action: () => addHere(sync) },
    { label: say.commandBar.addFolder, icon: FolderPlusIcon, action: () => openNew(sync, defaultsForNew(sync)) },
    ...others,
  ]
  return commands
    .filter(({ label }) => words.every((word) => wordsOf(label).join(' ').includes(word)))
    .map(({ label, icon, action }) => ({ key: label, icon: icon && <Icon of={icon} />, name: label, choose: action }))
}
