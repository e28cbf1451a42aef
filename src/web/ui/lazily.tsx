import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { say } from '../words/words.ts'
import { Button } from './button.tsx'
import { Waiting } from './waiting.tsx'

type State<P> = { Component?: ComponentType<P>; hasFailed?: boolean }

/** Milliseconds before another attempt, doubled each time. A browser counts as online before requests get through. */
const againMs = { first: 1500, most: 60_000 }

/** A component whose file loads when it is shown, or earlier by `prepare`. */
type Lazy<P> = ComponentType<P> & { prepare(): void }

/** A component whose file loads when it is first shown. After a failure, it tries again when online, or on request. */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): Lazy<P> {
  let loaded: ComponentType<P> | undefined
  const keep = async () => {
    loaded = await load()
    return loaded
  }
  // Ignores a failure: the component tries again when it is shown.
  const prepare = () => void keep().catch(() => {})
  function Lazy(props: P) {
    const [{ Component = loaded, hasFailed }, setState] = useState<State<P>>({})
    const start = () =>
      keep().then(
        (Component) => setState({ Component }),
        () => setState({ hasFailed: true }),
      )
    useEffect(() => {
      // `prepare` may have loaded the file already.
      if (!Component) void start()
    }, [])
    useEffect(() => {
      if (!hasFailed) return
      let timer: ReturnType<typeof setTimeout> | undefined
      const startUntilLoaded = (waitMs: number) => {
        void start()
        clearTimeout(timer)
        timer = setTimeout(() => startUntilLoaded(Math.min(2 * waitMs, againMs.most)), waitMs)
      }
      const startOnline = () => startUntilLoaded(againMs.first)
      addEventListener('online', startOnline)
      // The network may have come back before this listener existed.
      if (navigator.onLine) startOnline()
      return () => {
        removeEventListener('online', startOnline)
        clearTimeout(timer)
      }
    }, [hasFailed])
    if (Component) return <Component {...props} />
    if (!hasFailed) return <Waiting again={start} />
    return (
      <div class="notice bar" role="alert">
        <span>{say.ui.partNotLoaded}</span>
        <Button onClick={start}>{say.ui.tryAgain}</Button>
        <Button onClick={() => location.reload()}>{say.ui.reload}</Button>
      </div>
    )
  }
  return Object.assign(Lazy, { prepare })
}
