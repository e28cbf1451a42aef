import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { messageOf } from './failure.ts'

type State<P> = { Component?: ComponentType<P>; failure?: string }

/** A component whose file loads when it is first shown. If that fails, it offers to try again. */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function Lazy(props: P) {
    const [{ Component = loaded, failure }, setState] = useState<State<P>>({})
    const start = () =>
      load().then(
        (Component) => {
          loaded = Component
          setState({ Component })
        },
        (error: unknown) => setState({ failure: messageOf(error) }),
      )
    useEffect(() => {
      if (!loaded) void start()
    }, [])
    if (Component) return <Component {...props} />
    if (failure === undefined) return <p role="status">Loading…</p>
    return (
      <p role="alert">
        This part of the page could not be loaded. <Button onClick={start}>Try again</Button>
      </p>
    )
  }
}
