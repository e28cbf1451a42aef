import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { say } from '../words/words.ts'
import { Button } from './button.tsx'
import { Waiting } from './waiting.tsx'

type State<P> = { Component?: ComponentType<P>; hasFailed?: boolean }

/** A browser says that it is online before requests get through: it is asked again after so long, then half as often each time. */
const againMs = { first: 1500, most: 60_000 }

/** Its file begins to load when somebody knows that it will be shown. */
type Lazy<P> = ComponentType<P> & { prepare(): void }

/** A component whose file loads when it is first shown. If that fails, it tries again with the network, or when asked to. */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): Lazy<P> {
  let loaded: ComponentType<P> | undefined
  const keep = async () => {
    loaded = await load()
    return loaded
  }
  // If it fails, what is shown then says so.
  const prepare = () => void keep().catch(() => {})
  function Lazy(props: P) {
    const [{ Component = loaded, hasFailed }, setState] = useState<State<P>>({})
    const start = () =>
      keep().then(
        (Component) => setState({ Component }),
        () => setState({ hasFailed: true }),
      )
    useEffect(() => {
      // It may have come since this was drawn.
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
      // The network may have come back before anybody listened.
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
