import t from 'tap'
import { isSafe } from '../../src/web/library/kind.ts'
import { addressIn, completeAddress } from '../../src/web/library/links.ts'
import { ToldError } from '../../src/web/ui/failure.ts'
import { say } from '../../src/web/words/words.ts'

/** Browsers leave out what stands between the letters of some. */
const code = [
  ...['javascript:alert(1)', 'JavaScript:alert(1)', ' java\tscript:alert(1)', '\u0001javascript:alert(1)'],
  ...['data:text/html,x', 'vbscript:x', 'blob:https://example.org/1'],
]

t.test('No address that runs code is taken from a person, or is a link', async (t) => {
  for (const address of code) {
    t.throws(() => completeAddress(address), new ToldError(say.library.runsCode), address)
    t.same([addressIn(address), isSafe(address)], [undefined, false], address)
  }
  for (const address of ['https://example.org/', 'HTTP://example.org/', 'ftp://example.org/', 'mailto:a@example.org'])
    t.same([completeAddress(address), isSafe(address)], [address, true])
  t.equal(completeAddress('example.org/javascript:1'), 'https://example.org/javascript:1')
})
