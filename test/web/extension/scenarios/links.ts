import { exactly, inAnyOrder, link, scenario } from '../scenario.ts'

const long = 'long '.repeat(1000).trim()

export const links = [
  scenario('a bookmark is added in one browser', async ({ one }) => {
    await one.add('a')
    return exactly('a')
  }),
  scenario('a title is changed, and an address', async ({ one, two, same }) => {
    await one.add('a')
    await one.add('b')
    await same(exactly('a', 'b'))
    await one.readdress('b', link('elsewhere'))
    await two.retitle('a', 'renamed')
    return exactly(`renamed ${link('a')}`, `b ${link('elsewhere')}`)
  }),
  scenario('empty titles, and titles with all kinds of signs', async ({ one, same }) => {
    await one.add('')
    await one.add('<b>ä€😀</b> "x" & \\n')
    await same(exactly('', '<b>ä€😀</b> "x" & \\n'))
    await one.retitle('<b>ä€😀</b> "x" & \\n', '')
    return exactly('', ` ${link('<b>ä€😀</b> "x" & \\n')}`)
  }),
  scenario('scripts, files, pages of the browser, and an address with spaces', async ({ one, two }) => {
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
  scenario('a title of 5,000 letters, and an address of 8,000', async ({ one, two, same }) => {
    await one.add(long, {}, `${link('long')}?${'q'.repeat(8000)}`)
    await same(exactly(`${long} ${link('long')}?${'q'.repeat(8000)}`))
    await two.retitle(long, 'short')
    return exactly(`short ${link('long')}?${'q'.repeat(8000)}`)
  }),
]
