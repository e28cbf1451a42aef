import { useEffect } from 'preact/hooks'
import { useSync } from '../../client/react.ts'
import { go } from '../app/route.ts'
import { openNew } from './editor.tsx'

/** Where the bookmarklet leads: the form for a new bookmark, with the title and address of the page it was pressed on. */
export function AddPage({ rest }: { rest: string }) {
  const sync = useSync()
  useEffect(() => {
    const [title, url] = readPage(rest)
    go('folder', '', { replace: true })
    openNew(sync, { title, url })
  }, [])
  return null
}

/** Anybody can write a link to this view. */
function readPage(rest: string): [title: string, url: string] {
  try {
    const [title, url] = JSON.parse(rest) as unknown[]
    return [String(title ?? ''), String(url ?? '')]
  } catch {
    return ['', '']
  }
}
