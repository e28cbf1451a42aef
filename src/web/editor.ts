import { v7 as uuidv7 } from 'uuid'
import type { PlaintextBookmark, Sync, TreeNode } from '../client/index.ts'
import { element, field, form, showDialog } from './dom.ts'

/** A dialog for a new bookmark or folder, or for an existing one. */
export function openEditor(sync: Sync, edited: 'link' | 'folder' | PlaintextBookmark): void {
  const isNew = typeof edited === 'string'
  const bookmark: PlaintextBookmark = isNew
    ? { id: uuidv7(), title: '', source: 'bookmarks', dateAdded: new Date().toISOString() }
    : edited
  const isFolder = isNew ? edited === 'folder' : bookmark.url === undefined
  const dialog = element('dialog', { 'aria-label': isNew ? `New ${edited}` : `Edit ${bookmark.title}` })

  const save = async ({ title = '', url = '', tags = '', parentId = '' }: Record<string, string>) => {
    const labels = tags
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean)
    const { tags: _, parentId: from = '', position, ...rest } = bookmark
    const edited: PlaintextBookmark = {
      ...rest,
      title,
      dateModified: new Date().toISOString(),
      ...(!isFolder && { url }),
      ...(labels.length > 0 && { tags: labels }),
      ...(parentId !== '' && { parentId }),
      ...(parentId === from && position !== undefined && { position }),
    }
    // What another tab or device has changed since the form opened stays.
    await sync.put(edited, isNew ? {} : { seen: bookmark })
    dialog.close()
  }
  dialog.append(
    form(
      save,
      { className: 'fields' },
      field('Title', { name: 'title', value: bookmark.title, required: isFolder, autofocus: true }),
      !isFolder && field('Address', { name: 'url', type: 'url', value: bookmark.url ?? 'https://', required: true }),
      !isFolder && field('Tags, separated by commas', { name: 'tags', value: (bookmark.tags ?? []).join(', ') }),
      element('label', {}, element('span', {}, 'Folder'), folderSelect(sync, bookmark)),
      element(
        'div',
        { className: 'bar' },
        element('button', { type: 'submit', className: 'primary' }, 'Save'),
        element('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'),
      ),
    ),
  )
  showDialog(dialog)
}

/** Every folder that the bookmark can be moved to: not itself, nor a folder inside it. */
function folderSelect(sync: Sync, { id, parentId }: PlaintextBookmark): HTMLSelectElement {
  const select = element('select', { name: 'parentId' }, element('option', { value: '' }, '(top)'))
  const add = (nodes: TreeNode[], depth: number) => {
    for (const { bookmark, children } of nodes) {
      if (bookmark.url !== undefined || bookmark.type === 'separator' || bookmark.id === id) continue
      select.append(element('option', { value: bookmark.id }, `${'– '.repeat(depth)}${bookmark.title}`))
      add(children, depth + 1)
    }
  }
  add(sync.tree(), 0)
  select.value = parentId ?? ''
  return select
}
