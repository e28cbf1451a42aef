import { mock } from 'node:test'
import t from 'tap'
import { ProgressBar } from '../../src/service/terminal/progress.ts'

mock.timers.enable({ apis: ['setInterval', 'Date'] })
t.teardown(() => mock.timers.reset())

const colours = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g')

/** What each write of the progress was. */
function outputOf(terminal: { isTTY?: true; columns?: number }) {
  const written: string[] = []
  return { written, output: { ...terminal, write: (text: string) => written.push(text.replaceAll(colours, '')) } }
}

const redraw = '\r\x1b[K'

t.test('On a terminal, a bar as long as the work is far, with a clock that goes on while the work waits', (t) => {
  const { written, output } = outputOf({ isTTY: true, columns: 60 })
  const log = t.capture(console, 'log')
  {
    using progress = new ProgressBar(output)
    progress.report('copying', 0, 4)
    progress.report('copying', 1, 4)
    progress.report('copying', 1, 4)
    mock.timers.tick(61_000)
    progress.print('a line')
    progress.report('a long name of what is being done now, and more', 7)
  }
  const [none, quarter] = ['░'.repeat(24), '█'.repeat(6) + '░'.repeat(18)]
  t.same(written.slice(0, 2), [`${redraw}${none} 0:00  copying: 0 of 4`, `${redraw}${quarter} 0:00  copying: 1 of 4`])
  t.same(written.slice(-5), [
    `${redraw}${quarter} 1:01  copying: 1 of 4`,
    redraw,
    `${redraw}${quarter} 1:01  copying: 1 of 4`,
    `${redraw}${none} 1:01  a long name of what is being`,
    redraw,
  ])
  t.same(
    log().map(({ args }) => args),
    [['a line']],
  )
  mock.timers.tick(61_000)
  t.equal(written.at(-1), redraw, 'nothing is drawn once the work is done')
  t.end()
})

t.test('Elsewhere, a line every 30 s, none for short work', (t) => {
  const { written, output } = outputOf({})
  using progress = new ProgressBar(output)
  progress.report('copying', 1, 4)
  mock.timers.tick(29_999)
  t.same(written, [])
  mock.timers.tick(1)
  progress.report('checking', 0, 1)
  mock.timers.tick(30_000)
  t.same(written, ['copying: 1 of 4 (0:30)\n', 'checking (1:00)\n'])
  t.end()
})
