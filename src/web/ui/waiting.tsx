import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'

/** After this, a person wonders whether anything happens at all. */
const longMs = 6000

/** True once `isOn` has been true for so long that the person should hear why. */
export function useLong(isOn: boolean): boolean {
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    setLong(false)
    if (!isOn) return
    const timer = setTimeout(() => setLong(true), longMs)
    return () => clearTimeout(timer)
  }, [isOn])
  return isLong
}

/** Stands where something will be; if that takes long, it offers another attempt. */
export function Waiting({ again }: { again: () => unknown }) {
  const isLong = useLong(true)
  return (
    <div class="waiting" role="status">
      {isLong ? <p>The service has not answered yet. The page keeps waiting.</p> : <p>Loading…</p>}
      {isLong && <Button onClick={() => void again()}>Try again</Button>}
    </div>
  )
}
