import type { ButtonHTMLAttributes, ComponentChildren, TargetedMouseEvent } from 'preact'
import { useContext, useRef, useState } from 'preact/hooks'
import { say } from '../words/words.ts'
import { ShowFailure } from './failure.ts'
import { Icon, type IconShapes } from './icons.tsx'

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'onClick' | 'label'> {
  /** While a returned promise is pending, the button is inactive. A failure is shown. */
  onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown
  icon?: IconShapes
  look?: 'plain' | 'primary' | 'quiet' | 'danger'
  children?: ComponentChildren
}

export function Button({ onClick, icon, look = 'plain', children, disabled, class: name, ...rest }: ButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const isPending = useRef(false)
  const showFailure = useContext(ShowFailure)
  const click = async (event: TargetedMouseEvent<HTMLButtonElement>) => {
    if (isPending.current) return event.preventDefault()
    try {
      const result = onClick?.(event)
      if (!(result instanceof Promise)) return
      isPending.current = true
      setBusy(true)
      await result
    } catch (error) {
      showFailure(error)
    } finally {
      isPending.current = false
      setBusy(false)
    }
  }
  return (
    <button
      type="button"
      class={`button ${look}${children === undefined ? ' bare' : ''}${name ? ` ${name}` : ''}`}
      disabled={disabled}
      // Not `disabled`, because the button would lose the focus.
      aria-disabled={isBusy || undefined}
      onClick={click}
      {...rest}
    >
      {icon && <Icon of={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  )
}

/** Copies the text, and confirms it. */
export function CopyButton({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return <Button onClick={copy}>{isCopied ? say.ui.copied : say.ui.copy}</Button>
}

/** A button with only an icon. The label is its name and tooltip. */
export function IconButton({ label, ...rest }: Omit<ButtonProps, 'children'> & { label: string; icon: IconShapes }) {
  return <Button aria-label={label} title={label} look="quiet" {...rest} />
}
