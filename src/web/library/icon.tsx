import { FolderIcon, Icon } from '../ui/icons.tsx'
import { type Bookmark, hostOf, isFolder, nameOf } from './kind.ts'

/** The bookmark's icon; a letter where it has none of its own. Nothing is loaded from the site: it would learn who is here. */
export function Letter({ bookmark }: { bookmark: Bookmark }) {
  if (isFolder(bookmark)) {
    return (
      <span class="letter folder" data-icon>
        <Icon of={FolderIcon} />
      </span>
    )
  }
  const { favicon = '' } = bookmark
  if (favicon.startsWith('data:image/')) {
    return (
      <span class="letter own" data-icon>
        <img src={favicon} alt="" draggable={false} width={20} height={20} />
      </span>
    )
  }
  const letter = /[\p{L}\p{N}]/u.exec(nameOf(bookmark))?.[0] ?? '·'
  return (
    <span class={`letter hue-${hueOf(hostOf(bookmark))}`} aria-hidden="true" data-icon>
      {letter.toUpperCase()}
    </span>
  )
}

const hues = 8

function hueOf(text: string): number {
  let sum = 0
  for (const letter of text) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973
  return sum % hues
}
