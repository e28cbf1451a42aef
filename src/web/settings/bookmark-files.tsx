import { useSync } from '../../client/react.ts'
import { nameOf } from '../library/kind.ts'
import { Button } from '../ui/button.tsx'
import { counted } from '../ui/counted.ts'
import { sentence } from '../ui/failure.ts'
import { FileButton, save } from '../ui/files.tsx'
import { type ImportJob, importFile, useImportJob } from './import-job.ts'

/** Files as browsers import and export them. */
export function BookmarkFiles() {
  const sync = useSync()
  const job = useImportJob()
  const write = async () => {
    const { writeBookmarkFileAsync } = await import('../../client/bookmark-file.ts')
    const text = await writeBookmarkFileAsync([...sync.bookmarks().values()])
    save(new Blob([text], { type: 'text/html' }), 'bookmarks.html')
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
function Import({ job: { what, share, done, total, report, failed = [], failure, isOffline } }: { job: ImportJob }) {
  if (failure !== undefined) return <p role="alert">Nothing was imported. {sentence(failure)}</p>
  if (!report) {
    return (
      <div class="progress">
        <span>
          {what}
          {total !== undefined && ` ${done?.toLocaleString()} of ${total.toLocaleString()}`}
        </span>
        <progress aria-label="Import" value={share} max={1} />
      </div>
    )
  }
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
