/** Runs commands in sentences and tables of docs/operating twice. commands.test.ts lists those that it does not run. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Machine } from '../support/machine.ts'
import { addBookmark, live } from '../web/fixture.ts'
import { blocks, lineOf } from './blocks.ts'

const name = 'encrypted-bookmark-sync'
const copies = '/mnt/other-disk/bookmarks'
const file = `/var/lib/${name}/bookmarks.db`

interface Place {
  machine: Machine
  userId: string
  issuer: string
  /** The pages of two devices of that user. */
  laptop: Page
  phone: Page
  ready(): Promise<void>
}

/** Needs a machine with a service on SQLite and one user. Moves the service to Postgres and back. */
export async function typeAll(t: Test, { machine, userId, issuer, laptop, phone, ready }: Place): Promise<void> {
  const type = async (page: string, command: string, expected: RegExp | RegExp[], replaced = {}) => {
    const line = lineOf(`docs/operating/${page}.md`, command, replaced)
    const [first, second = first] = [expected].flat()
    for (const pattern of [first, second])
      t.match(await machine.type(`( ${line} ) 2>&1 || echo "exit $?"`), pattern, `${page}: ${line}`)
  }
  const stop = () => type('deployment', 'systemctl stop encrypted-bookmark-sync', /^$/)
  const start = async () => {
    await type('deployment', 'systemctl start encrypted-bookmark-sync', /^$/)
    await ready()
  }
  const both = async (title: string) => {
    await addBookmark(laptop, title)
    await live(laptop)
    await phone.getByRole('link', { name: title }).waitFor()
  }
  const of = { USER_ID: userId }

  await type('after-a-restore', 'ebs admin accept-clock', /it is accepted from now on/)
  const issuers = { OLD: 'https://old.example.org', NEW: issuer }
  await type('another-provider', 'ebs admin move-issuer OLD NEW --dry-run', /nothing to do/, issuers)
  await type('another-provider', 'ebs admin move-issuer OLD NEW', /nothing to do/, issuers)

  await type('backups', 'install -d -m 0700 -o encrypted-bookmark-sync /mnt/other-disk/bookmarks', /^$/)
  await editUnit(machine, blocks.find(({ code }) => code.startsWith('[Unit]\nRequiresMountsFor'))?.code ?? '')
  await type('backups', 'systemctl edit encrypted-bookmark-sync', /^$/, inTerminal)
  const settings = `/etc/${name}/environment`
  await machine.type(`cp ${settings} /root && printf 'BACKUP_EVERY=1d\\nBACKUP_TO=${copies}\\n' >> ${settings}`)
  await type('deployment', 'systemctl restart encrypted-bookmark-sync', /^$/)
  await ready()
  await machine.type(`until ls -d ${copies}/*Z; do sleep 0.1; done`)
  await type('backups', 'ebs backup FOLDER', [/\/mnt\/other-disk\/once/, /\/mnt\/other-disk\/once\/\d/], {
    FOLDER: '/mnt/other-disk/once',
    ebs: `chown ${name} /mnt/other-disk && ebs`,
  })
  await type('backups', 'ebs restore --list', /Z/)
  await type('backups', 'ebs restore --check', /can be recovered/)
  await type('backups', 'ebs restore --check BACKUP', /can be recovered/, { BACKUP: '/mnt/other-disk/once' })
  await type('backups', 'sha256sum --check', /bookmarks\.db: OK/, {
    sha256sum: `cd ${copies}/*Z && sha256sum`,
    '--check': '--check SHA256SUMS',
  })
  const mine = `${copies}/2000-01-01T00-00-00-000Z`
  await machine.type(`cp -r /mnt/other-disk/once ${mine} && chmod -R go= ${mine}`)
  t.match(await machine.type('ebs restore --list'), /cannot be read/)
  await type('backups', 'chown -R', /^$/, { 'chown -R': `chown -R ${name} ${mine}` })
  t.notMatch(await machine.type('ebs restore --list'), /cannot be read/)
  await stop()
  await type('backups', 'ebs restore latest', /epoch /)
  await type('backups', 'ebs restore BACKUP', /epoch /, { BACKUP: '/mnt/other-disk/once' })
  await type('backups', 'ebs migrate', /./)
  await type('backups', 'ebs restored', /epoch/)
  await start()
  await both('After three recoveries')
  await type('backups', 'ebs reseal', /resealed 0, already current \d+, unreadable 0/)
  await type('backups', 'ebs admin restore USER_ID BACKUP', /is there: only .*exit 1/s, {
    ...of,
    BACKUP: '/mnt/other-disk/once',
  })

  await type('deployment', 'systemctl --version', /^systemd 2\d\d/)
  await type('deployment', 'ldd --version', /2\.\d\d/)
  await type('deployment', 'ebs doctor', /^ok/m)
  await type('deployment', 'install -d -m 0700 -o USER FOLDER', /^$/, { USER: name, FOLDER: '/mnt/of-the-service' })
  await type('deployment', '(umask 077 && touch bookmarks.env)', /^$/)

  await growing()
  async function growing() {
    const asPostgres = (command: string) => ({ [command]: `cd / && su postgres -c '${command}` })
    await machine.type('apt-get install postgresql', 'y\n')
    await machine.type(`cd / && su postgres -c psql`, `create role bookmarks login password 'secret';\n`)
    await type(
      'growing',
      'createdb --owner=bookmarks --encoding=UTF8 --template=template0 bookmarks',
      [/^$/, /already exists.*exit 1/s],
      { ...asPostgres('createdb'), 'template0 bookmarks': "template0 bookmarks'" },
    )
    const url = `/etc/${name}/database_url`
    await machine.type(`(umask 077; echo postgres://bookmarks:secret@127.0.0.1/bookmarks > /root/url)`)
    await stop()
    await type('growing', 'ebs move --to-file FILE', /checked .*users 1.*: what was written is what was read/, {
      FILE: '/root/url',
    })
    await type('growing', 'ebs move URL', /what was written is what was read/, { URL: '"$(cat /root/url)"' })
    await machine.type(`cp /root/environment ${settings} && mv /root/url ${url}`)
    const guide = await readFile(new URL('../../docs/operating/deployment.md', import.meta.url), 'utf8')
    const variable = /`(Environment=DATABASE_URL_FILE=[^`]+)`/.exec(guide)?.[1]
    await editUnit(machine, `[Service]\nLoadCredential=database_url:${url}\n${variable}`)
    await type('deployment', 'systemctl edit encrypted-bookmark-sync', /^$/, inTerminal)
    await start()
    t.notMatch(await machine.type('ebs doctor'), /^error/m)
    await both('On Postgres')
    await type('growing', 'ebs restored', /epoch/)
    await type('growing', 'vacuumdb --analyze-in-stages', /Generating/, {
      ...asPostgres('vacuumdb'),
      '--analyze-in-stages': "--analyze-in-stages bookmarks'",
    })
    await both('After a newer epoch')
    await stop()
    await type('after-a-restore', 'delete from logins', [/DELETE [1-9]/, /DELETE 0/], {
      'delete from logins': `cd / && su postgres -c 'psql bookmarks --command="delete from logins"'`,
    })
    await machine.type(`rm ${file}*`)
    await type(
      'growing',
      'ebs move sqlite:/var/lib/encrypted-bookmark-sync/bookmarks.db',
      /checked .*users 1.*: what was written is what was read/,
    )
    await machine.type(`rm ${url} /etc/systemd/system/${name}.service.d/override.conf && systemctl daemon-reload`)
    await start()
    t.notMatch(await machine.type('ebs doctor'), /^error/m)
  }

  await machine.type('apt-get install curl', 'y\n')
  await type('monitoring', 'curl $OIDC_ISSUER/.well-known/openid-configuration', /"authorization_endpoint"/, {
    curl: `. ${settings}; curl -s --cacert "$NODE_EXTRA_CA_CERTS"`,
  })
  await type('upgrading', 'ebs admin recount', /recounted 1 users, mended 0/)

  await type('users', 'ebs admin users', new RegExp(`^${userId} .*\n1 users, `))
  await type('users', 'ebs admin sessions USER_ID', /^$/, of)
  await type('users', 'ebs admin quota USER_ID [BYTES]', /of 3000000000 bytes, set for this user/, {
    ...of,
    '[BYTES]': '3000000000',
  })
  await type('users', 'ebs admin quota USER_ID [BYTES]', /set for this user/, { ...of, ' [BYTES]': '' })
  await type('users', 'ebs admin disable USER_ID', /signed out and disabled/, of)
  await type('users', 'ebs admin enable USER_ID', /can sign in again/, of)
  await type('users', 'ebs admin export USER_ID', /"table":"users"/, of)
  await type('users', 'umask 077; ebs admin export USER_ID > stored.jsonl', /^$/, of)
  await type('users', 'ebs admin check', /checked 1 users, 0 with damaged rows/)
  await type('users', 'ebs admin accept-limits', /nothing to accept/)
  await type('users', 'ebs admin delete USER_ID', /ada@example\.com.*--yes deletes this account.*exit 1/s, of)
  await type(
    'after-a-restore',
    'ebs admin delete USER_ID --yes',
    [/^\S+ .*deleted; until/s, /was deleted; until.*exit 1/s],
    of,
  )
  await type('users', 'ebs admin undelete [USER_ID]', /ada@example\.com.*can be brought back/, { ' [USER_ID]': '' })
  await type('users', 'ebs admin undelete [USER_ID]', [/is back/, /is not deleted.*exit 1/s], { '[USER_ID]': userId })
}

/** `systemctl edit` needs a terminal. */
const inTerminal = {
  systemctl: `script -qec 'SYSTEMD_EDITOR=/usr/bin/unit-editor systemctl`,
  [name]: `${name}' /dev/null`,
}

/** Replaces the editor by a program that enters this text. */
async function editUnit(machine: Machine, text: string): Promise<void> {
  await writeFile(join(machine.at, 'root/unit'), `${text}\n`)
  await writeFile(join(machine.at, 'usr/bin/unit-editor'), '#!/bin/sh\ncp /root/unit "$1"\n', { mode: 0o755 })
}
