import { nameOf } from '../library/kind.ts'
import { useApp } from '../session/context.ts'
import { Button } from '../ui/button.tsx'
import { confirmFirst } from '../ui/dialogs.tsx'
import { FileButton, saveFile } from '../ui/files.tsx'
import { tell } from '../ui/tell.ts'
import { Progress } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { Backups } from './backups.tsx'
import { type ImportJob, importFile, isRunning, useImportJob } from './import-job.ts'

/** Import, export, the bookmarklet, and backups. */
export function Settings() {
  return (
    <div class="page panels">
      <h1>{say.app.views.settings}</h1>
      <BookmarkFiles />
      <Bookmarklet />
      <Backups />
      <p>
        <a href="/demo/THIRD-PARTY.txt">{later.settings.licences}</a>
      </p>
    </div>
  )
}

/** Bookmark files of browsers and other services. */
function BookmarkFiles() {
  const app = useApp()
  const job = useImportJob()
  const write = async (ending: 'html' | 'json' | 'csv') => {
    const files = await import('../../client/bookmark-file.ts')
    const { writeBookmarkFileAsync: html, writeBookmarkJson: json, writeBookmarkCsv: csv } = files
    const text = await { html, json, csv }[ending]([...app.sync.bookmarks().values()])
    saveFile(new Blob([text], { type: `text/${ending}` }), later.settings.bookmarkFile(ending))
  }
  return (
    <section class="panel">
      <h2>{later.settings.files}</h2>
      <p>{later.settings.filesMore}</p>
      <div class="bar">
        <FileButton
          label={later.settings.importFile}
          disabled={isRunning(job)}
          chosen={(file) => importFile(app, file, askAboutPage)}
        />
        <Button onClick={() => write('html')}>{later.settings.saveFile}</Button>
        <Button onClick={() => write('json')}>{later.settings.saveJson}</Button>
        <Button onClick={() => write('csv')}>{later.settings.saveCsv}</Button>
      </div>
      {job && <Import job={job} />}
    </section>
  )
}

function askAboutPage(count: number, go: () => void): void {
  confirmFirst({
    title: later.settings.pageTitle,
    text: later.settings.pageMore(count),
    action: later.settings.importPage,
    // The import continues after the dialog has closed.
    run: () => {
      go()
    },
  })
}

/** One progress bar for the whole import, then what was added, skipped and refused. */
function Import({ job }: { job: ImportJob }) {
  const { report, failed = [], unread = 0, damaged = [], failure, isOffline } = job
  if (failure !== undefined) return <p role="alert">{later.settings.nothingImported(failure)}</p>
  if (!report) return <Progress {...job} what={later.settings.steps[job.what]} />
  const { imported, existing } = report
  return (
    <div class="report" role="status">
      <p>{later.settings.imported(imported, existing.length, failed.length)}</p>
      <Lines
        of={failed}
        textOf={({ bookmark, why }) =>
          later.settings.failedOne(bookmark ? nameOf(bookmark) : later.settings.noValidId, why)
        }
      />
      {report.repaired.length > 0 && <p>{later.settings.repaired(report.repaired.length)}</p>}
      {unread > 0 && <p>{later.settings.unread(unread)}</p>}
      {damaged.length > 0 && <p>{later.settings.damaged(damaged.length)}</p>}
      <Lines of={damaged} textOf={(line) => line} />
      {report.reduced.length > 0 && <p>{later.settings.reduced(report.reduced.length)}</p>}
      {isOffline && <p>{later.settings.sentLater}</p>}
    </div>
  )
}

/** Lines shown of a report. Thousands of them would block the page. */
const mostLines = 100

function Lines<T>({ of: all, textOf }: { of: readonly T[]; textOf: (one: T) => string }) {
  if (all.length === 0) return null
  const others = all.length - mostLines
  return (
    <ul>
      {[...new Set(all.slice(0, mostLines).map(textOf))].map((text) => (
        <li key={text}>{text}</li>
      ))}
      {others > 0 && <li>{later.settings.andMore(others)}</li>}
    </ul>
  )
}

/** A link for the browser's bookmarks bar that saves the current page. */
function Bookmarklet() {
  const code = `open('${location.origin}/#/add/'+encodeURIComponent(JSON.stringify([document.title,location.href,true])),'','width=520,height=720')`
  return (
    <section class="panel">
      <h2>{later.settings.bookmarklet}</h2>
      {/* A telephone has no bar to drag anything to. */}
      <p class="for-fingers">{later.settings.onPhone}</p>
      <p class="for-mice">{later.settings.bookmarkletMore}</p>
      <div class="bar for-mice">
        <a
          class="button"
          href={`javascript:void(${code})`}
          onClick={(event) => {
            event.preventDefault()
            tell(later.settings.dragIt)
          }}
        >
          {later.settings.addPage}
        </a>
      </div>
    </section>
  )
}
