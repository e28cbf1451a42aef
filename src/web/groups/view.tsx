import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Sync, SyncReader, TreeNode } from '../../client/index.ts'
import { useSelection, useSync, useSyncStatus } from '../../client/react.ts'
import { withContents } from '../library/contents.ts'
import { findIds, Highlight, markedIn, useSearched } from '../library/found.tsx'
import { Letter } from '../library/icon.tsx'
import { type Bookmark, isFolder, isSafe, nameOf } from '../library/kind.ts'
import { type FolderChoice, FolderField } from '../library/move.tsx'
import { PageLink, PageSite } from '../library/page-link.tsx'
import { recordsOf } from '../library/records.ts'
import { go } from '../session/route.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Field, FieldFault, Form, FormEnd } from '../ui/form.tsx'
import { ChevronIcon, EditIcon, FolderPlusIcon, GroupsIcon, Icon, MoreIcon, OpenIcon, TrashIcon } from '../ui/icons.tsx'
import { Menu } from '../ui/menu.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Empty } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { change, hues, isKnownColor, makeFolder, makeGroup, openTabs, removeSaved } from './groups.ts'

const rowHeight = 3.75

/** The saved tab groups of all devices. */
export function Groups({ rest: query }: { rest: string }) {
  const sync = useSync()
  const groups = useMemo(() => recordsOf(sync, 'groups'), [sync])
  const tree = useSelection(readGroups)
  const isSearch = query.trim() !== ''
  // Until the search has a result, the list shows everything.
  const found = useSearched(groups, (signal) => findIds(groups, query, signal), [query])
  /** Groups that the person has opened or, during a search, closed: a search opens all groups with hits. */
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => setToggled(new Set()), [isSearch])
  const toggle = (id: string) =>
    setToggled(new Set(toggled.has(id) ? [...toggled].filter((one) => one !== id) : [...toggled, id]))
  const isFound = ({ bookmark: { id } }: TreeNode) => !isSearch || (found?.has(id) ?? true)
  const lines = useMemo(
    () => linesOf(tree, isFound, (id) => toggled.has(id) !== isSearch),
    [tree, found, isSearch, toggled],
  )
  const words = useMemo(() => (isSearch ? markedIn(query) : []), [query])
  const { lastSync } = useSyncStatus()
  return (
    <section class="page groups" aria-labelledby="groups-title">
      <div class="heading">
        <h1 id="groups-title">{say.app.views.groups}</h1>
        <p>{later.groups.more}</p>
      </div>
      <div class="bar">
        <SearchField
          label={later.groups.search}
          query={query}
          onSearch={(text) => go('groups', text, { replace: true })}
        />
        <Button
          icon={FolderPlusIcon}
          onClick={() => showDialog((close) => <FromFolder sync={sync} groups={groups} close={close} />)}
        >
          {later.groups.fromFolder}
        </Button>
      </div>
      {lines.length > 0 ? (
        <VirtualList
          label={say.app.views.groups}
          count={lines.length}
          rowHeight={rowHeight}
          keyOf={(index) => (lines[index] as Line).node.bookmark.id}
          item={(index) => <Row line={lines[index] as Line} groups={groups} words={words} toggle={toggle} />}
        />
      ) : isSearch ? (
        found && <p role="status">{say.library.nothingFound}</p>
      ) : (
        <Empty icon={GroupsIcon} title={lastSync === 0 ? say.ui.loading : later.groups.none}>
          <p>{later.groups.noneMore}</p>
        </Empty>
      )}
    </section>
  )
}

const readGroups = ({ groups }: SyncReader) => groups.tree()

/** A group, or a tab of the group above it. If another device has deleted a group, its remaining tabs stand alone. */
interface Line {
  node: TreeNode
  isOpen: boolean
  tabs: readonly TreeNode[]
}

function linesOf(
  nodes: readonly TreeNode[],
  isFound: (node: TreeNode) => boolean,
  isOpen: (id: string) => boolean,
): Line[] {
  return nodes.flatMap((node) => {
    const tabs = node.children.filter(isFound)
    if (tabs.length === 0 && !isFound(node)) return []
    const line = { node, tabs, isOpen: isFolder(node.bookmark) && isOpen(node.bookmark.id) }
    return line.isOpen ? [line, ...linesOf(tabs, isFound, isOpen)] : [line]
  })
}

interface RowProps {
  line: Line
  groups: Sync
  words: readonly string[]
  toggle: (id: string) => void
}

function Row({ line, groups, words, toggle }: RowProps) {
  const { bookmark } = line.node
  return isFolder(bookmark) ? (
    <GroupRow line={line} groups={groups} words={words} toggle={toggle} />
  ) : (
    <TabRow tab={bookmark} groups={groups} words={words} />
  )
}

function GroupRow({ line: { node, isOpen }, groups, words, toggle }: RowProps) {
  const sync = useSync()
  const { bookmark: group, children } = node
  const { id, color } = group
  const name = nameOf(group)
  const tabs = children.map(({ bookmark }) => bookmark)
  const open = () => openTabs(group, tabs)
  const edit = () => showDialog((close) => <EditGroup groups={groups} group={group} close={close} />)
  const erase = () => removeSaved(groups, group)
  return (
    <div class="row list">
      <span class={`letter hue-${isKnownColor(color) ? hues[color] : hues.grey}`} aria-hidden="true">
        <Icon of={ChevronIcon} />
      </span>
      <div class="row-text">
        <button type="button" class="row-title" dir="auto" aria-expanded={isOpen} onClick={() => toggle(id)}>
          <Highlight text={name} words={words} />
        </button>
        <span class="row-sub">
          {later.groups.tabs(tabs.length)} · {colorName(color)}
        </span>
      </div>
      <div class="row-tools">
        <IconButton label={later.groups.openAllOf(name)} icon={OpenIcon} onClick={open} />
        <IconButton label={say.library.edit(name)} icon={EditIcon} onClick={edit} />
        <IconButton label={say.library.delete(name)} icon={TrashIcon} onClick={erase} />
        <Menu
          label={say.library.moreFor(name)}
          icon={MoreIcon}
          items={[
            { label: later.groups.openAll, icon: OpenIcon, action: open },
            { label: later.groups.edit, icon: EditIcon, action: edit },
            { label: later.groups.makeFolder, icon: FolderPlusIcon, action: () => makeFolder(sync, group, tabs) },
            { label: say.ui.delete, icon: TrashIcon, action: erase },
          ]}
        />
      </div>
    </div>
  )
}

function TabRow({ tab, groups, words }: { tab: Bookmark; groups: Sync; words: readonly string[] }) {
  const { url = '' } = tab
  const name = nameOf(tab)
  const erase = () => removeSaved(groups, tab)
  return (
    <div class="row list tab">
      <Letter bookmark={tab} />
      <div class="row-text">
        <PageLink page={tab} words={words} />
        <span class="row-sub">
          <PageSite page={tab} words={words} />
          {!isSafe(url) && ` · ${later.groups.notHere}`}
        </span>
      </div>
      <div class="row-tools">
        <IconButton label={say.library.delete(name)} icon={TrashIcon} onClick={erase} />
        <Menu
          label={say.library.moreFor(name)}
          icon={MoreIcon}
          items={[{ label: say.ui.delete, icon: TrashIcon, action: erase }]}
        />
      </div>
    </div>
  )
}

function colorName(color = 'grey'): string {
  return isKnownColor(color) ? later.groups.colors[color] : color
}

function EditGroup({ groups, group, close }: { groups: Sync; group: Bookmark; close: () => void }) {
  const { color = 'grey' } = group
  const save = async (fields: Record<string, string>) => {
    await change(groups, group, { title: fields.title ?? '', color: fields.color ?? color })
    close()
  }
  return (
    <Dialog title={later.groups.editTitle} close={close}>
      <Form onSubmit={save}>
        <Field label={later.groups.name} name="title" defaultValue={group.title} autofocus autocomplete="off" />
        <div class="field">
          <label for="group-color">{later.groups.color}</label>
          <select id="group-color" name="color" defaultValue={color}>
            {[...new Set([...Object.keys(hues), color])].map((one) => (
              <option key={one} value={one} selected={one === color}>
                {colorName(one)}
              </option>
            ))}
          </select>
        </div>
        <FormEnd close={close}>{say.ui.save}</FormEnd>
      </Form>
    </Dialog>
  )
}

function FromFolder({ sync, groups, close }: { sync: Sync; groups: Sync; close: () => void }) {
  const choice = useRef<FolderChoice>({ id: undefined })
  const make = async () => {
    const folder = sync.get(choice.current.id ?? '')
    const links = folder ? withContents(sync, [folder.id]).filter(({ url }) => url !== undefined) : []
    if (!folder || links.length === 0) throw new FieldFault('folder', later.groups.chooseFolder)
    await makeGroup(groups, folder, links)
    close()
    go('groups')
  }
  return (
    <Dialog title={later.groups.fromFolder} close={close}>
      <Form onSubmit={make}>
        <p>{later.groups.fromFolderMore}</p>
        <FolderField sync={sync} label={say.ui.folder} choice={choice} moving={[]} autofocus />
        <FormEnd close={close}>{later.groups.make}</FormEnd>
      </Form>
    </Dialog>
  )
}
