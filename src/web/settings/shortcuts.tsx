import { isApple } from '../ui/keyboard.ts'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'
import { setSingleKeys, useSingleKeys } from './single-keys.ts'

/** Each shortcut's keys. Its description is in `later.settings.keysDo`. */
const keys: Readonly<Record<keyof typeof later.settings.keysDo, readonly string[]>> = {
  find: ['/'],
  findTyping: ['Ctrl', 'K'],
  add: ['n'],
  paste: ['Ctrl', 'V'],
  addFolder: ['f'],
  list: ['?'],
  walk: ['↑', '↓'],
  open: ['Enter'],
  select: ['x'],
  selectSeveral: ['Shift', '↑ ↓'],
  selectAll: ['Ctrl', 'A'],
  selectNone: ['Esc'],
  edit: ['e'],
  move: ['m'],
  tag: ['t'],
  delete: ['Delete'],
  moveUp: ['Alt', '↑ ↓'],
  rename: ['F2'],
  undo: ['Ctrl', 'Z'],
  redo: ['Ctrl', 'Shift', 'Z'],
}

const ofApple: Partial<Record<string, string>> = { Ctrl: '⌘', Alt: '⌥', Shift: '⇧', Delete: '⌫' }

export function Shortcuts() {
  const isOn = useSingleKeys()
  return (
    <div class="page">
      <h1>{say.app.views.shortcuts}</h1>
      <section class="panel">
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            aria-checked={isOn}
            aria-describedby="single-keys-hint"
            checked={isOn}
            onChange={() => setSingleKeys(!isOn)}
          />
          {later.settings.singleKeys}
        </label>
        <p class="hint" id="single-keys-hint">
          {fill(later.settings.singleKeysMore)}
        </p>
      </section>
      <table class="shortcuts">
        <thead>
          <tr>
            <th scope="col">{later.settings.keys}</th>
            <th scope="col">{later.settings.whatTheyDo}</th>
          </tr>
        </thead>
        <tbody>
          {(Object.keys(keys) as (keyof typeof keys)[]).map((name) => (
            <tr key={name}>
              <td>
                {keys[name].map((key) => (
                  <kbd key={key}>{(isApple() && ofApple[key]) || later.settings.keyNames[key] || key}</kbd>
                ))}
              </td>
              <td>{later.settings.keysDo[name]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
