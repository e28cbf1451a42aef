import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { say } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon, type IconShapes } from './icons.tsx'

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
      <p>{isLong ? say.ui.noAnswerYet : say.ui.loading}</p>
      {isLong && <Button onClick={() => void again()}>{say.ui.tryAgain}</Button>}
    </div>
  )
}

/** Stands where nothing is yet, and says what belongs here and what to do. */
export function Empty({ icon, title, children }: { icon: IconShapes; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon of={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}
