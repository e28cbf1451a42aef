import { useId } from 'preact/hooks'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { bytes } from '../ui/bytes.ts'
import { useAccount } from './use-account.ts'

/** How much of each limit is used. */
export function Storage({ turn }: { turn: number }) {
  const account = useAccount()
  const info = useLoaded(() => account.account(), [turn])
  return (
    <section class="panel" aria-labelledby="storage-title">
      <h2 id="storage-title">Storage</h2>
      <Answer of={info}>
        {({ usage, limits }) => (
          <>
            <Meter
              label="Bookmarks and their history"
              used={usage.bytes}
              limit={limits.storedBytes}
              format={bytes}
              hint={
                usage.versionBytes > 0 &&
                `${bytes(usage.versionBytes)} of it are earlier versions and deleted bookmarks. The oldest make room when it is needed.`
              }
            />
            <Meter
              label="Bookmarks, deleted ones included"
              used={usage.records}
              limit={limits.storedRecords}
              format={number}
            />
            <Meter label="Backups" used={usage.exportBytes} limit={limits.exportBytes} format={bytes} />
            <Meter label="Devices" used={usage.devices} limit={limits.devices} format={number} />
            <p class="hint">
              {limits.versionDays === 0
                ? 'This service keeps no earlier versions and no deleted bookmarks.'
                : `Earlier versions and deleted bookmarks are kept for ${number(limits.versionDays)} days, at most ${number(limits.versionsOfRecord)} of a bookmark.`}
            </p>
          </>
        )}
      </Answer>
    </section>
  )
}

interface MeterProps {
  label: string
  used: number
  limit: number
  format: (value: number) => string
  hint?: string | false
}

/** From here on the person should know that it is getting full. */
const nearlyFull = 0.9

function Meter({ label, used, limit, format, hint }: MeterProps) {
  const id = useId()
  return (
    <div class="meter">
      <label for={id}>{label}</label>
      <span>
        {format(used)} of {format(limit)}
      </span>
      <meter
        id={id}
        value={used}
        max={limit}
        high={nearlyFull * limit}
        aria-valuetext={`${format(used)} of ${format(limit)}`}
      />
      {used >= nearlyFull * limit && <p class="failure">Nearly full: erase what you do not need.</p>}
      {hint && <p class="hint">{hint}</p>}
    </div>
  )
}

function number(count: number): string {
  return count.toLocaleString()
}
