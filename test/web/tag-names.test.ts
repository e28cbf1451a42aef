import fc from 'fast-check'
import t from 'tap'
import { spelled, tagKey, tagName, withTags } from '../../src/web/library/tag-names.ts'

const text = fc.string({ unit: fc.constantFrom(...'aÄÖé#, \t\u00a0ßx') })

t.test("all spellings of a tag's name are the same tag", async () => {
  fc.assert(
    fc.property(
      text,
      fc.constantFrom('NFC', 'NFD'),
      fc.constantFrom('', '#', '## '),
      fc.boolean(),
      (typed, form, mark, isLow) => {
        const tag = tagName(typed)
        t.equal(tagName(tag), tag)
        t.notMatch(tag, /^[#\s]|[,\t\u00a0]|\s$|\s\s/)
        if (tag === '') return
        const blanks = tag.replaceAll(' ', ' \u00a0 ').normalize(form)
        const again = `  ${mark}${isLow ? blanks.toLowerCase() : blanks}  `
        t.equal(spelled(again, ['other', tag]), tag)
        t.equal(tagName(again).toLowerCase(), tagKey(tag))
        t.same(withTags(['other', tag], [again]), ['other', tag])
      },
    ),
  )
})

t.test('an existing spelling is used, and added tags appear once', async (t) => {
  t.equal(spelled('recipe', ['Recipe', 'recipe']), 'recipe')
  t.equal(spelled('RECIPE', ['Recipe', 'recipe']), 'Recipe')
  t.same(withTags(['A', 'a'], ['b', 'B', 'a']), ['A', 'a', 'b'])
})
