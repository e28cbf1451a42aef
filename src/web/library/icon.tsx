import { useState } from 'preact/hooks'
import { pictureOrigin } from '../session/pictures.ts'
import { FolderIcon, Icon } from '../ui/icons.tsx'
import { type Bookmark, hostOf, isFolder, nameOf } from './kind.ts'

interface LetterProps {
  bookmark: Bookmark
}

/**
 * The bookmark's stored icon, or a letter. Nothing is loaded from the site, which would learn who has bookmarked it.
 * The picture of a starred repository's owner is loaded only if the person has allowed that.
 */
export function Letter({ bookmark }: LetterProps) {
  const origin = pictureOrigin.use()
  const picture = origin && bookmark.source === 'stars' ? (bookmark.owner?.avatar_url ?? '') : ''
  const [failed, setFailed] = useState('')
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
  if (picture && picture !== failed && URL.parse(picture)?.origin === origin) {
    return (
      <span class="letter own" data-icon>
        <img
          src={picture}
          alt=""
          loading="lazy"
          referrerpolicy="no-referrer"
          draggable={false}
          width={20}
          height={20}
          onError={() => setFailed(picture)}
        />
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
