import type { ButtonHTMLAttributes, ComponentChildren, TargetedMouseEvent } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { ShowFailure } from './failure.ts'
import { Icon, type IconShapes } from './icon.tsx'

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'onClick' | 'label'> {
  /** While a promise that it returns is pending, the button is disabled. A failure is shown. */
  onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown
  icon?: IconShapes
  look?: 'plain' | 'primary' | 'quiet' | 'danger'
  children?: ComponentChildren
}

export function Button({ onClick, icon, look = 'plain', children, disabled, class: name, ...rest }: ButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const showFailure = useContext(ShowFailure)
  const click = async (event: TargetedMouseEvent<HTMLButtonElement>) => {
    const button = event.currentTarget
    try {
      const result = onClick?.(event)
      if (!(result instanceof Promise)) return
      setBusy(true)
      await result
    } catch (error) {
      showFailure(error)
    } finally {
      setBusy(false)
      // A browser takes the focus from a disabled button.
      if (document.activeElement === document.body) requestAnimationFrame(() => button.focus())
    }
  }
  return (
    <button
      type="button"
      class={`button ${look}${children === undefined ? ' bare' : ''}${name ? ` ${name}` : ''}`}
      disabled={Boolean(disabled) || isBusy}
      onClick={click}
      {...rest}
    >
      {icon && <Icon of={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  )
}

/** A button that shows its icon alone. The label is its name and its tooltip. */
export function IconButton({ label, ...rest }: Omit<ButtonProps, 'children'> & { label: string; icon: IconShapes }) {
  return <Button aria-label={label} title={label} look="quiet" {...rest} />
}
