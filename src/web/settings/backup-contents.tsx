import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { buildTree, type OpenedExport, type Sync } from '../../client/index.ts'
import { countAllIn } from '../library/count-in.ts'
import { isFolder, nameOf } from '../library/kind.ts'
import { Letter } from '../library/letter.tsx'
import { Button } from '../ui/button.tsx'
import { counted } from '../ui/counted.ts'
import { Counts } from '../ui/counts.tsx'
import { Progress, type Step } from '../ui/progress.tsx'
import { exactTime } from '../ui/time.tsx'
import { compare, restoreBackup } from './restore-backup.ts'

/** Enough to recognise it by. */
const mostShown = 8

interface BackupContentsProps {
  sync: Sync
  opened: OpenedExport
  close: () => void
}

/** What is in a backup, how it differs from what is there now, and the ways to put it back. */
export function BackupContents({ sync, opened, close }: BackupContentsProps) {
  const { bookmarks, exported_at } = opened
  const [step, setStep] = useState<Step>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const tree = useMemo(() => buildTree(bookmarks), [opened])
  const { missing, changed } = useMemo(() => compare(sync, bookmarks), [opened])
  const folders = bookmarks.filter(isFolder).length
  const restore = async (overwrite: boolean) => {
    const what = 'Encrypting'
    setStep({ what })
    try {
      await restoreBackup(sync, opened, { overwrite, onProgress: (done, total) => setStep({ what, done, total }) })
    } finally {
      setStep(undefined)
    }
    close()
  }
  const addMissing = `Add ${missing.length.toLocaleString()} missing`
  const same = bookmarks.length - missing.length - changed.length
  const lines = [
    { count: missing.length, what: 'missing', why: 'not there now' },
    { count: changed.length, what: 'different', why: 'changed since' },
    { count: same, what: 'the same', why: 'as they were' },
  ]
  return (
    <div class="form">
      <h3 ref={heading} tabIndex={-1}>
        {counted(bookmarks.length - folders, 'bookmark')} and {counted(folders, 'folder')}
      </h3>
      <p class="hint">As they were on {exactTime(Date.parse(exported_at))}</p>
      <Counts lines={lines} kind="backup-counts" />
      <ul class="plain backup-list" aria-label="At the top of it">
        {tree.slice(0, mostShown).map((node) => (
          <li key={node.bookmark.id}>
            <Letter bookmark={node.bookmark} />
            <span class="backup-name" dir="auto">
              {nameOf(node.bookmark)}
            </span>
            {isFolder(node.bookmark) && <span class="hint">{countAllIn(node).toLocaleString()}</span>}
          </li>
        ))}
      </ul>
      {tree.length > mostShown && (
        <p class="hint">And {(tree.length - mostShown).toLocaleString()} more beside them.</p>
      )}
      {step && <Progress {...step} />}
      {missing.length + changed.length === 0 && <p>There is nothing to put back.</p>}
      <div class="bar end" inert={step !== undefined}>
        <Button onClick={close}>Close</Button>
        {changed.length > 0 && (
          <Button onClick={() => restore(true)}>
            {missing.length > 0 ? `${addMissing}, reset` : 'Reset'} {changed.length.toLocaleString()} different
          </Button>
        )}
        {missing.length > 0 && (
          <Button look="primary" onClick={() => restore(false)}>
            {addMissing}
          </Button>
        )}
      </div>
    </div>
  )
}
