import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Waiting } from './waiting.tsx'

type State<P> = { Component?: ComponentType<P>; hasFailed?: boolean }

/** A component whose file loads when it is first shown. If that fails, it offers to try again. */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function Lazy(props: P) {
    const [{ Component = loaded, hasFailed }, setState] = useState<State<P>>({})
    const start = () =>
      load().then(
        (Component) => {
          loaded = Component
          setState({ Component })
        },
        () => setState({ hasFailed: true }),
      )
    useEffect(() => {
      if (!loaded) void start()
    }, [])
    if (Component) return <Component {...props} />
    if (!hasFailed) return <Waiting again={start} />
    return (
      <div class="notice bar" role="alert">
        <span>This part of the page could not be loaded: there is no network, or the page has a newer version.</span>
        <Button onClick={start}>Try again</Button>
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    )
  }
}
