import { exactly, inAnyOrder, link, scenario } from '../scenario.ts'

const long = 'long '.repeat(1000).trim()

export const links = [
  scenario('a bookmark is added in one browser', async ({ one }) => {
    await one.add('a')
    return exactly('a')
  }),
  scenario('a title and an address are changed', async ({ one, two, same }) => {
    await one.add('a')
    await one.add('b')
    await same(exactly('a', 'b'))
    await one.readdress('b', link('elsewhere'))
    await two.retitle('a', 'renamed')
    return exactly(`renamed ${link('a')}`, `b ${link('elsewhere')}`)
  }),
  scenario('titles may be empty, or have all kinds of characters', async ({ one, same }) => {
    await one.add('')
    await one.add('<b>ä€😀</b> "x" & \\n')
    await same(exactly('', '<b>ä€😀</b> "x" & \\n'))
    await one.retitle('<b>ä€😀</b> "x" & \\n', '')
    return exactly('', ` ${link('<b>ä€😀</b> "x" & \\n')}`)
  }),
  scenario('addresses may be scripts, files, browser pages, or have spaces', async ({ one, two }) => {
    await one.add('script', {}, "javascript:void(alert('a b'))")
    await one.add('file', {}, 'file:///home/ada/notes.txt')
    await two.add('browser', {}, 'chrome://settings/')
    await two.add('spaces', {}, `${link('a')}/with spaces?q=ä`)
    return inAnyOrder(
      "script javascript:void(alert('a b'))",
      'file file:///home/ada/notes.txt',
      'browser chrome://settings/',
      `spaces ${link('a')}/with%20spaces?q=%C3%A4`,
    )
  }),
  scenario('a title may have 5,000 letters, and an address 8,000', async ({ one, two, same }) => {
    await one.add(long, {}, `${link('long')}?${'q'.repeat(8000)}`)
    await same(exactly(`${long} ${link('long')}?${'q'.repeat(8000)}`))
    await two.retitle(long, 'short')
    return exactly(`short ${link('long')}?${'q'.repeat(8000)}`)
  }),
]
