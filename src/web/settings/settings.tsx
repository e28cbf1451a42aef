import { useSync } from '../../client/react.ts'
import { nameOf } from '../library/kind.ts'
import { Button } from '../ui/button.tsx'
import { sentence } from '../ui/failure.ts'
import { counted } from '../ui/figures.ts'
import { FileButton, saveFile } from '../ui/files.tsx'
import { Progress } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'
import { Backups } from './backups.tsx'
import { type ImportJob, importFile, useImportJob } from './import-job.ts'

/** What comes in, and what is kept elsewhere. */
export function Settings() {
  return (
    <div class="page panels">
      <h1>Import and backups</h1>
      <BookmarkFiles />
      <Bookmarklet />
      <Backups />
    </div>
  )
}

/** Files as browsers import and export them. */
function BookmarkFiles() {
  const sync = useSync()
  const job = useImportJob()
  const write = async () => {
    const { writeBookmarkFileAsync } = await import('../../client/bookmark-file.ts')
    const text = await writeBookmarkFileAsync([...sync.bookmarks().values()])
    saveFile(new Blob([text], { type: 'text/html' }), 'bookmarks.html')
  }
  return (
    <section class="panel">
      <h2>Bookmark files</h2>
      <p>The file that every browser can import and export. It is not encrypted.</p>
      <div class="bar">
        <FileButton label="Import a bookmark file" accept=".htm,.html" chosen={(file) => importFile(sync, file)} />
        <Button onClick={write}>Save as a bookmark file</Button>
      </div>
      {job && <Import job={job} />}
    </section>
  )
}

/** One bar from the file to the service; then what was added, skipped, failed. */
function Import({ job }: { job: ImportJob }) {
  const { report, failed = [], failure, isOffline } = job
  if (failure !== undefined) return <p role="alert">Nothing was imported. {sentence(failure)}</p>
  if (!report) return <Progress {...job} />
  const { imported, existing } = report
  return (
    <div class="report" role="status">
      <p>
        {counted(imported, 'bookmark or folder', 'bookmarks and folders')} imported
        {existing.length > 0 && `, ${counted(existing.length, 'was', 'were')} there already`}
        {failed.length > 0 && `, ${failed.length.toLocaleString()} failed:`}
      </p>
      {failed.length > 0 && (
        <ul>
          {failed.map(({ bookmark, why }) => (
            <li key={bookmark?.id}>
              “{bookmark ? nameOf(bookmark) : 'without a valid id'}”: {why}
            </li>
          ))}
        </ul>
      )}
      {isOffline && <p>What is not sent yet is in this browser, and is sent as soon as the service can be reached.</p>}
    </div>
  )
}

/** A bookmark for the browser's own bar, which saves the page that is shown there. */
function Bookmarklet() {
  const code = `open('${location.origin}/#/add/'+encodeURIComponent(JSON.stringify([document.title,location.href,true])),'','width=520,height=720')`
  return (
    <section class="panel">
      <h2>Add from any page</h2>
      <p>Drag this button to the bookmarks bar of your browser. Pressed on any page, it saves that page here.</p>
      <div class="bar">
        <a
          class="button"
          href={`javascript:void(${code})`}
          onClick={(event) => {
            event.preventDefault()
            tell('Drag it to the bookmarks bar of your browser, and press it there')
          }}
        >
          Add this page
        </a>
      </div>
    </section>
  )
}
