import type { ComponentChildren } from 'preact'
import { type Inputs, useEffect, useRef, useState } from 'preact/hooks'
import { OfflineError } from '../../client/index.ts'
import { useSyncStatus } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'
import { Waiting } from '../ui/waiting.tsx'
import { say } from '../words/words.ts'

/** The service's response, or why there is none. */
export interface Loaded<T> {
  value: T | undefined
  failure: unknown
  /** Loads again. Resolves with the response, or with undefined after a failure, which is shown. */
  load(): Promise<T | undefined>
}

/** Loads when the view opens, an input changes, or a failed connection is back. Meanwhile, keeps the last value. */
export function useLoaded<T>(ask: () => Promise<T>, inputs: Inputs): Loaded<T> {
  const [{ value, failure }, setState] = useState<{ value?: T; failure?: unknown }>({})
  const asked = useRef(0)
  const { state } = useSyncStatus()
  const isConnected = state === 'online' || state === 'polling'
  /** True if the connection was missing for some time since the last attempt began. */
  const wasOffline = useRef(false)
  const load = async () => {
    const call = ++asked.current
    wasOffline.current = !isConnected
    const isLatest = () => call === asked.current
    try {
      const value = await ask()
      if (isLatest()) setState({ value })
      return value
    } catch (failure) {
      if (isLatest()) setState((shown) => ({ ...shown, failure }))
      return undefined
    }
  }
  useEffect(() => {
    void load()
    return () => {
      asked.current++
    }
  }, inputs)
  useEffect(() => {
    if (!isConnected) wasOffline.current = true
    // The failure may arrive after the connection is back.
    else if (wasOffline.current && failure instanceof OfflineError) void load()
  }, [isConnected, failure])
  return { value, failure, load }
}

interface AnswerProps<T> {
  of: Loaded<T>
  children: (value: T) => ComponentChildren
}

/** Shows the response. Until then, shows that it is loading; after a failure, what to do. */
export function Answer<T>({ of: { value, failure, load }, children }: AnswerProps<T>) {
  return (
    <>
      {failure !== undefined && (
        <div
          class={failure instanceof OfflineError ? 'notice calm' : 'notice bar'}
          role={failure instanceof OfflineError ? 'status' : 'alert'}
        >
          <span>{failure instanceof OfflineError ? say.app.needsConnection : messageOf(failure)}</span>
          <Button onClick={load}>{say.ui.tryAgain}</Button>
        </div>
      )}
      {value !== undefined && children(value)}
      {value === undefined && failure === undefined && <Waiting again={load} />}
    </>
  )
}
