import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

/** Which bookmarks of a list are selected. */
export interface Selected {
  ids: ReadonlySet<string>
  /** @param isRange everything from the last one that was toggled up to this one */
  toggle(id: string, isRange?: boolean): void
  all(): void
  clear(): void
}

/** @param ids of the list, in its order */
export function useSelected(ids: readonly string[]): Selected {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(none)
  const latest = useRef(ids)
  latest.current = ids
  const anchor = useRef<string>(undefined)
  const actions = useMemo(
    () => ({
      toggle(id: string, isRange = false) {
        const { current: ids } = latest
        const [from, to] = [ids.indexOf(anchor.current ?? ''), ids.indexOf(id)].sort((one, other) => one - other)
        setChosen((before) => {
          const next = new Set(before)
          if (isRange && from !== undefined && to !== undefined && from >= 0) {
            for (const one of ids.slice(from, to + 1)) next.add(one)
          } else if (!next.delete(id)) next.add(id)
          return next
        })
        anchor.current = id
      },
      all: () => setChosen(new Set(latest.current)),
      clear: () => setChosen(none),
    }),
    [],
  )
  // What has left the list is no longer selected: nobody would see what happens to it.
  const there = useMemo(() => (chosen.size === 0 ? none : new Set(ids.filter((id) => chosen.has(id)))), [ids, chosen])
  useEffect(() => {
    if (there.size < chosen.size) setChosen(there)
  }, [there, chosen])
  return { ids: there, ...actions }
}

const none: ReadonlySet<string> = new Set()
