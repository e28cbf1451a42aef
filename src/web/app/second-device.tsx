import { useLayoutEffect, useState } from 'preact/hooks'
import { deviceClosed } from '../session/device.ts'
import { say } from '../words/words.ts'

/** The state of the second device. On narrow screens, only the device named in `shown` is visible. */
export interface SecondDeviceView {
  isOpen: boolean
  shown: 'first' | 'second'
  toggle(): void
  show(which: 'first' | 'second'): void
}

export function useSecondDevice(): SecondDeviceView {
  const [isOpen, setOpen] = useState(false)
  const [shown, show] = useState<SecondDeviceView['shown']>('first')
  const toggle = () => {
    setOpen(!isOpen)
    show(isOpen ? 'first' : 'second')
  }
  useLayoutEffect(() => {
    const hear = ({ data, origin }: MessageEvent) => {
      if (origin !== location.origin || data !== deviceClosed) return
      setOpen(false)
      show('first')
    }
    addEventListener('message', hear)
    return () => removeEventListener('message', hear)
  }, [])
  return { isOpen, shown, toggle, show }
}

const names = { first: say.app.thisBrowser, second: say.app.secondTab }

/** The page itself in a frame, as a separate device. On narrow screens, tabs switch between the two. */
export function SecondDevice({ beside: { shown, show } }: { beside: SecondDeviceView }) {
  return (
    <>
      <nav class="device-tabs" aria-label={say.app.devices}>
        {(['first', 'second'] as const).map((which) => (
          <button key={which} type="button" aria-pressed={shown === which} onClick={() => show(which)}>
            {names[which]}
          </button>
        ))}
      </nav>
      <aside class="beside" id="beside">
        <iframe src={`/?device=${encodeURIComponent(say.app.secondTab)}`} title={say.app.secondDevice} />
      </aside>
    </>
  )
}
