import { useCallback, useState } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSelection } from '../../client/react.ts'
import { remove } from '../library/actions.ts'
import { Collection, useOrder } from '../library/collection.tsx'
import { memoizedByTree, useSorted } from '../library/sorter.ts'
import { type App, useApp } from '../session/context.ts'
import { useLoaded } from '../session/loaded.tsx'
import { allowPictures, pictureOrigin } from '../session/pictures.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { FileButton } from '../ui/files.tsx'
import { Field, Form, FormEnd } from '../ui/form.tsx'
import { StarIcon } from '../ui/icons.tsx'
import { exactTime } from '../ui/time.tsx'
import { Empty, Progress } from '../ui/waiting.tsx'
import { number } from '../words/language.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { endReading, fetchStars, importStars, isReading, type StarJob, settleMissing, useStarJob } from './star-job.ts'
import { languageOf, usersOf, withoutUser } from './stars.ts'

/** The repositories that the person has starred on GitHub. */
export function Stars() {
  const app = useApp()
  const job = useStarJob()
  const sorting = useOrder('stars')
  const [language, setLanguage] = useState('')
  const languages = useSelection(languagesOf)
  const ids = useSorted(
    useCallback((sync: SyncReader) => starsIn(sync, language), [language]),
    sorting.order,
  )
  const { value: offered } = useLoaded(readOffer, [])
  const apiUrl = offered?.apiUrl
  const isShowingPictures = pictureOrigin.use() !== ''
  return (
    <Collection
      key={language}
      label={say.app.views.stars}
      heading={
        <div class="heading">
          <h1>{say.app.views.stars}</h1>
          <div class="bar">
            {apiUrl && !isReading(job) && (
              <Button onClick={() => showDialog((close) => <GetStars app={app} apiUrl={apiUrl} close={close} />)}>
                {later.stars.get}
              </Button>
            )}
            {apiUrl && (
              <FileButton
                label={later.stars.fromFile}
                accept=".json"
                disabled={isReading(job)}
                chosen={(file) => importStars(app, apiUrl, file)}
              />
            )}
            {languages.length > 1 && (
              <select
                aria-label={later.stars.language}
                value={language}
                onChange={(event) => setLanguage(event.currentTarget.value)}
              >
                <option value="">{later.stars.allLanguages}</option>
                {languages.map(([name, count]) => (
                  <option key={name} value={name}>
                    {`${name} (${number(count)})`}
                  </option>
                ))}
              </select>
            )}
          </div>
          {job && <Job job={job} />}
          {offered && (
            <label class="bar">
              <input
                type="checkbox"
                checked={isShowingPictures}
                onChange={() => allowPictures(isShowingPictures ? '' : offered.picturesOrigin)}
              />
              {later.stars.pictures(new URL(offered.picturesOrigin).host)}
            </label>
          )}
        </div>
      }
      ids={ids}
      sorting={sorting}
      showsPath
      empty={
        <Empty icon={StarIcon} title={later.stars.none}>
          <p>{apiUrl ? later.stars.noneMore : later.stars.notOffered}</p>
        </Empty>
      }
    />
  )
}

function Job({ job }: { job: StarJob }) {
  const app = useApp()
  const { state, read, added, changed, page, pages, until, failure, isComplete, missing } = job
  if (isReading(job)) {
    return (
      <div role="status">
        <Progress
          what={until === undefined ? later.stars.reading(read) : later.stars.waiting(exactTime(until))}
          {...(page && pages && { share: page / pages })}
        />
        <Button onClick={endReading}>{say.ui.cancel}</Button>
      </div>
    )
  }
  if (failure !== undefined) {
    return (
      <p class="failure" role="alert">
        {failure}
      </p>
    )
  }
  return (
    <>
      <p role="status">
        {later.stars.done(read, added, changed)} {state === 'ended' && later.stars.ended}
        {isComplete === false && later.stars.notAll}
      </p>
      {/* Not a dialog that opens by itself, because the person may be typing in another one. */}
      {missing && (
        <Button onClick={() => showDialog((close) => <Missing app={app} {...missing} close={close} />)}>
          {later.stars.decide(missing.ids.length)}
        </Button>
      )}
    </>
  )
}

function GetStars({ app, apiUrl, close }: { app: App; apiUrl: string; close: () => void }) {
  const start = ({ user = '', token = '' }: Record<string, string>) => {
    const name = user.trim()
    void fetchStars(app, { apiUrl, user: name, ...(token.trim() && { token: token.trim() }) })
    close()
  }
  const host = new URL(apiUrl).host
  return (
    <Dialog title={later.stars.get} close={close}>
      <Form onSubmit={start}>
        <p>{later.stars.getMore(host)}</p>
        <Field
          label={later.stars.user}
          name="user"
          required
          autofocus
          autocomplete="off"
          isSecret
          defaultValue={firstUser(app.sync)}
        />
        <Field
          label={later.stars.token}
          name="token"
          type="password"
          autocomplete="off"
          isSecret
          hint={later.stars.tokenMore}
        />
        <FormEnd close={close}>{later.stars.start}</FormEnd>
      </Form>
    </Dialog>
  )
}

interface MissingProps {
  app: App
  user: string
  ids: readonly string[]
  close: () => void
}

/** Asks what to do with stars that GitHub no longer lists, because GitHub does not say why. */
function Missing({ app: { sync }, user, ids, close }: MissingProps) {
  const stars = ids.flatMap((id) => sync.get(id) ?? [])
  const isOnlyTheirs = (id: string) => usersOf(sync.get(id) ?? { id, title: '', source: 'stars' }).length < 2
  const release = (ids: readonly string[]) => sync.update(ids, (bookmark) => withoutUser(bookmark, user))
  const removeAll = async () => {
    const own = ids.filter((id) => sync.get(id) && isOnlyTheirs(id))
    await release(ids.filter((id) => sync.get(id) && !isOnlyTheirs(id)))
    settleMissing()
    close()
    await remove(sync, own)
  }
  const keepAll = async () => {
    await release(ids.filter((id) => sync.get(id)))
    settleMissing()
    close()
  }
  return (
    <Dialog title={later.stars.missing(stars.length)} close={close}>
      <div class="form">
        <p>{later.stars.missingMore}</p>
        <ul class="plain scrolling">
          {stars.slice(0, mostNamed).map(({ id, title }) => (
            <li key={id}>{title}</li>
          ))}
        </ul>
        {stars.length > mostNamed && <p class="hint">{say.library.andMore(stars.length - mostNamed)}</p>}
        <div class="bar end">
          <Button onClick={keepAll} autofocus>
            {later.stars.keep}
          </Button>
          <Button look="danger" onClick={removeAll}>
            {later.stars.remove(stars.length)}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

const mostNamed = 20

function starsIn(sync: SyncReader, language: string): string[] {
  const isShown = (id: string) => {
    const star = sync.get(id)
    return star?.source === 'stars' && (language === '' || languageOf(star) === language)
  }
  return [...sync.bookmarks().keys()].filter(isShown)
}

/** The languages of the stars, the most frequent first. */
const languagesOf = memoizedByTree((sync: SyncReader): [string, number][] => {
  const counts = new Map<string, number>()
  for (const bookmark of sync.bookmarks().values()) {
    const language = bookmark.source === 'stars' ? languageOf(bookmark) : undefined
    if (language) counts.set(language, (counts.get(language) ?? 0) + 1)
  }
  return [...counts].sort(([one, ones], [other, others]) => others - ones || (one < other ? -1 : 1))
})

function firstUser(sync: SyncReader): string {
  for (const bookmark of sync.bookmarks().values()) {
    const [user] = bookmark.source === 'stars' ? usersOf(bookmark) : []
    if (user !== undefined) return user
  }
  return ''
}

interface Offer {
  apiUrl: string
  /** The origin of the owners' pictures. */
  picturesOrigin: string
}

/** The addresses of GitHub that this service allows; undefined if it does not offer stars. */
async function readOffer(): Promise<Offer | undefined> {
  const response = await fetch('/demo/github.json')
  if (!response.ok) return undefined
  const { apiUrl, picturesOrigin } = (await response.json()) as Partial<Record<keyof Offer, unknown>>
  const isUrl = (value: unknown): value is string => typeof value === 'string' && URL.canParse(value)
  return isUrl(apiUrl) && isUrl(picturesOrigin) ? { apiUrl, picturesOrigin } : undefined
}
