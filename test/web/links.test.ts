import t from 'tap'
import { isSafe } from '../../src/web/library/kind.ts'
import { addressIn, completeAddress, pageOf } from '../../src/web/library/links.ts'
import { UserFacingError } from '../../src/web/ui/failure.ts'
import { say } from '../../src/web/words/words.ts'

/** Addresses that run code. Browsers ignore the control characters within some of them. */
const addressesOfCode = [
  ...['javascript:alert(1)', 'JavaScript:alert(1)', ' java\tscript:alert(1)', '\u0001javascript:alert(1)'],
  ...['data:text/html,x', 'vbscript:x', 'blob:https://example.org/1'],
]

t.test('An address that runs code cannot be entered, and is never a link', async (t) => {
  for (const address of addressesOfCode) {
    t.throws(() => completeAddress(address), new UserFacingError(say.library.runsCode), address)
    t.same([addressIn(address), isSafe(address)], [undefined, false], address)
  }
  for (const address of ['https://example.org/', 'HTTP://example.org/', 'ftp://example.org/', 'mailto:a@example.org'])
    t.same([completeAddress(address), isSafe(address)], [address, true])
  t.equal(completeAddress('example.org/javascript:1'), 'https://example.org/javascript:1')
})

t.test('Addresses that differ only in fragment or tracking parameters are the same page', async (t) => {
  const page = 'a.example/p?q=1&r=2'
  for (const address of [
    ...[
      'https://www.a.example/p?q=1&r=2#part',
      'http://a.example/p?q=1&utm_source=x&r=2',
      'a.example/p?q=1&r=2&fbclid=x#',
    ],
    ...['https://a.example/p?utm_medium=a&q=1&r=2&gclid', 'https://a.example/p?q=1&r=2#:~:text=a/b?c'],
  ])
    t.equal(pageOf(address), page, address)
  t.equal(pageOf('https://a.example/?utm_campaign=x#top'), 'a.example')
  const others = [
    'https://a.example/#/one',
    'https://a.example/#!two',
    'https://a.example/?utmost=1',
    'https://a.example/?a#/b?c',
  ]
  t.equal(new Set(['a.example', 'a.example?a', ...others.map(pageOf)]).size, 6)
  t.same([undefined, '', 'https://', '#part', '?utm_source=x'].map(pageOf), Array(5).fill(undefined))
})
