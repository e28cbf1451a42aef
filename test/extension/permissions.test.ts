import { readFile } from 'node:fs/promises'
import t from 'tap'
import { readManifests } from '../../scripts/package/extension.ts'

t.test('The privacy policy gives a reason for each permission in the manifests, and for no other', async (t) => {
  const policy = await readFile(new URL('../../docs/privacy.md', import.meta.url), 'utf8')
  const { chrome, firefox } = await readManifests()
  t.same(
    [firefox.optional_permissions, firefox.optional_host_permissions],
    [chrome.optional_permissions, chrome.optional_host_permissions],
  )
  t.same([...firefox.permissions, 'offscreen'], chrome.permissions)
  const [, table = ''] = /\| Permission \| Why \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(policy) ?? []
  const explained = [...table.matchAll(/^\| (`.*?`) \| \w.*\|$/gm)].flatMap(
    ([, names = '']) => names.match(/(?<=`)[^`,]+(?=`)/g) ?? [],
  )
  const sources = chrome.content_security_policy.extension_pages.match(/'(?!self|none)[\w-]+'/g) ?? []
  const { permissions, optional_permissions, optional_host_permissions } = chrome
  t.same(
    explained.toSorted(),
    [...permissions, ...optional_permissions, ...optional_host_permissions, ...sources].toSorted(),
  )
  const { required, optional } = firefox.browser_specific_settings.gecko.data_collection_permissions
  t.same(
    [...required, ...optional].filter((name) => !policy.includes(`\`${name}\``)),
    [],
  )
})
