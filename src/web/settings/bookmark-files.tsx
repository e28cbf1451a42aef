import { useState } from 'preact/hooks'
import { readBookmarkFileAsync, writeBookmarkFileAsync } from '../../client/bookmark-file.ts'
import { useSync } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { FileButton, save } from '../ui/files.tsx'
import { Progress, type Step } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'

/** Files as browsers import and export them. */
export function BookmarkFiles() {
  const sync = useSync()
  const [step, setStep] = useState<Step>()
  const importFile = async (file: File) => {
    setStep({ what: 'Reading' })
    try {
      const bookmarks = await readBookmarkFileAsync(await file.text())
      const onProgress = (done: number, total: number) => setStep({ what: 'Encrypting', done, total })
      const { imported, existing, failed } = await sync.importBookmarks(bookmarks, { onProgress })
      const skipped = existing.length > 0 ? `, ${existing.length} were there already` : ''
      const lost = failed.length > 0 ? `, ${failed.length} were too large` : ''
      tell(`${imported} bookmarks and folders imported${skipped}${lost}`)
    } finally {
      setStep(undefined)
    }
  }
  const write = async () => {
    const text = await writeBookmarkFileAsync([...sync.bookmarks().values()])
    save(new Blob([text], { type: 'text/html' }), 'bookmarks.html')
  }
  return (
    <section class="panel">
      <h2>Bookmark files</h2>
      <p>The file that every browser can import and export. It is not encrypted.</p>
      <div class="bar">
        <FileButton label="Import a bookmark file" accept=".htm,.html" chosen={importFile} />
        <Button onClick={write}>Save as a bookmark file</Button>
      </div>
      {step && <Progress {...step} />}
    </section>
  )
}
