import { setSingleKeys, useSingleKeys } from '../app/shortcuts.ts'

const keys: readonly { keys: readonly string[]; what: string }[] = [
  { keys: ['/'], what: 'Find a bookmark, or do anything by typing' },
  { keys: ['Ctrl', 'K'], what: 'The same, also while you type' },
  { keys: ['n'], what: 'Add a bookmark to this folder' },
  { keys: ['Ctrl', 'V'], what: 'Save the address that was copied, to this folder' },
  { keys: ['f'], what: 'Add a folder to this folder' },
  { keys: ['?'], what: 'This list' },
  { keys: ['↑', '↓'], what: 'The bookmark above, below' },
  { keys: ['Enter'], what: 'Open it' },
  { keys: ['x'], what: 'Select it' },
  { keys: ['Shift', '↑ ↓'], what: 'Select several' },
  { keys: ['Ctrl', 'A'], what: 'Select all' },
  { keys: ['Esc'], what: 'Select none' },
  { keys: ['e'], what: 'Edit it' },
  { keys: ['m'], what: 'Move it, or what is selected, to a folder' },
  { keys: ['t'], what: 'Tag it, or what is selected' },
  { keys: ['Delete'], what: 'Delete it, or what is selected' },
  { keys: ['Alt', '↑ ↓'], what: 'Move it up, down' },
  { keys: ['Ctrl', 'Z'], what: 'Undo, step by step' },
]

export function Shortcuts() {
  const isOn = useSingleKeys()
  return (
    <div class="page">
      <h1>Shortcuts</h1>
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
          Single keys work everywhere
        </label>
        <p class="hint" id="single-keys-hint">
          These are <kbd>/</kbd> <kbd>n</kbd> <kbd>f</kbd> <kbd>?</kbd>. Turn them off if you control this browser by
          voice, or hit keys by accident. All other keys work only in a list that has the focus.
        </p>
      </section>
      <table class="shortcuts">
        <thead>
          <tr>
            <th scope="col">Keys</th>
            <th scope="col">What they do</th>
          </tr>
        </thead>
        <tbody>
          {keys.map(({ keys, what }) => (
            <tr key={what}>
              <td>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
