import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { chooseLanguage, chosenLanguage, languageName, languages } from '../words/language.ts'
import { say } from '../words/words.ts'
import { ShowFailure } from './failure.ts'
import { Icon, type IconShapes, LanguageIcon } from './icons.tsx'

interface MenuProps {
  /** The button's name for screen readers, and its tooltip. */
  label: string
  icon?: IconShapes
  /** Shown in the button next to the icon. */
  children?: ComponentChildren
  items: readonly (MenuItem | false | undefined)[]
  /** The button's class, to match its neighbours. */
  class?: string | undefined
  /** Leaves the button out of the Tab order, because the same menu is elsewhere, too. */
  isShortcut?: boolean | undefined
}

export interface MenuItem {
  label: string
  icon?: IconShapes
  isChecked?: boolean
  action: () => unknown
}

/** A button with a menu. The browser closes the menu on Escape and on clicks elsewhere. */
export function Menu({ label, icon, children, items, class: name, isShortcut }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  const showFailure = useContext(ShowFailure)
  const [isOpen, setOpen] = useState(false)
  useLayoutEffect(() => {
    if (isOpen && menu.current) place(menu.current, button.current)
  }, [isOpen])
  const choose = async ({ action }: MenuItem) => {
    menu.current?.hidePopover()
    button.current?.focus()
    try {
      await action()
    } catch (error) {
      showFailure(error)
    }
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={name ?? `button quiet ${children === undefined ? 'bare' : 'compact'}`}
        aria-haspopup="menu"
        aria-label={label}
        title={label}
        tabIndex={isShortcut ? -1 : undefined}
        popoverTarget={id}
      >
        {icon && <Icon of={icon} />}
        {children !== undefined && <span>{children}</span>}
      </button>
      <div
        ref={menu}
        id={id}
        class="menu"
        role="menu"
        aria-label={label}
        popover="auto"
        onToggle={(event) => setOpen(event.newState === 'open')}
        onKeyDown={walk}
      >
        {/* Drawn only while it is open, because a page has many menus. */}
        {(isOpen ? items : []).map(
          (item) =>
            item && (
              <button
                key={item.label}
                type="button"
                {...(item.isChecked === undefined
                  ? { role: 'menuitem' as const }
                  : { role: 'menuitemradio' as const, 'aria-checked': item.isChecked })}
                onClick={() => choose(item)}
              >
                {item.icon && <Icon of={item.icon} />}
                {item.label}
              </button>
            ),
        )}
      </div>
    </>
  )
}

/** A menu to choose the page's language. */
export function LanguageMenu({ class: name }: { class?: string }) {
  const chosen = chosenLanguage()
  const items = [undefined, ...languages].map((one) => ({
    label: one === undefined ? say.ui.automatic : languageName(one),
    isChecked: one === chosen,
    action: () => chooseLanguage(one),
  }))
  return (
    <Menu label={say.ui.language} icon={LanguageIcon} items={items} class={name}>
      {name && say.ui.language}
    </Menu>
  )
}

/** Places the menu below the button, or above it if there is not enough room. */
function place(menu: HTMLElement, button: HTMLElement | null): void {
  const at = button?.getBoundingClientRect()
  if (!at) return
  const { offsetWidth: width, offsetHeight: height } = menu
  const top = at.bottom + height > innerHeight ? at.top - height : at.bottom
  menu.style.top = `${Math.max(8, top)}px`
  menu.style.left = `${Math.max(8, Math.min(at.right - width, innerWidth - width - 8))}px`
  menu.querySelector('button')?.focus()
}

function walk(event: TargetedKeyboardEvent<HTMLElement>): void {
  // When the menu closes, the browser focuses its button, and Tab continues from there.
  if (event.key === 'Tab') event.currentTarget.hidePopover()
  const items = [...event.currentTarget.querySelectorAll('button')]
  const at = items.indexOf(document.activeElement as HTMLButtonElement)
  const ways: Record<string, number> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1 + items.length,
    Home: 0,
    End: items.length - 1,
  }
  const next = ways[event.key]
  if (next === undefined) return
  event.preventDefault()
  items[next % items.length]?.focus()
}
