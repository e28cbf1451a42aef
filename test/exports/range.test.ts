import t from 'tap'
import { parseRange } from '../../src/service/exports/downloads.ts'

const size = 1000

t.test('a single range is understood', async (t) => {
  const ranges: [string, number, number][] = [
    ['bytes=0-0', 0, 0],
    ['bytes=0-499', 0, 499],
    ['bytes=999-999', 999, 999],
    ['bytes=500-', 500, 999],
    ['bytes=0-', 0, 999],
    ['bytes=500-5000', 500, 999],
    [`bytes=1-${'9'.repeat(200)}`, 1, 999],
    ['bytes=-1', 999, 999],
    ['bytes=-1000', 0, 999],
    ['bytes=-5000', 0, 999],
    ['BYTES= 0-1 ', 0, 1],
  ]
  for (const [header, start, end] of ranges) t.strictSame(parseRange(header, size), { start, end }, header)
})

t.test('a range outside the file is unsatisfiable', async (t) => {
  const headers = ['bytes=1000-', 'bytes=1000-1001', 'bytes=-0', `bytes=${'9'.repeat(200)}-`]
  for (const header of headers) t.equal(parseRange(header, size), 'unsatisfiable', header)
  t.equal(parseRange('bytes=-1', 0), 'unsatisfiable')
})

t.test('several ranges, other units and malformed ones are ignored', async (t) => {
  const headers = [
    'bytes=0-1,5-6',
    'bytes=5-4',
    'bytes=-',
    'bytes=',
    'bytes',
    'lines=0-1',
    'bytes=a-b',
    'bytes=0x1-',
    '',
  ]
  const odd = [
    'bytes=1--2',
    'bytes=+1-2',
    'bytes=1.5-2',
    'bytes=0 - 1',
    'bytes=0-1, ',
    'xbytes=0-1',
    '\nbytes=0-1',
    'bytes=٠-١',
  ]
  for (const header of [...headers, ...odd]) t.equal(parseRange(header, size), undefined, header)
  t.equal(parseRange(undefined, size), undefined)
})
