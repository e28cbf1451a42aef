/** Pairings of honest devices, with a dishonest service, and with dishonest people. */
import { createECDH, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import t from 'tap'
import { open, seal } from '../../src/client/crypto/aead.ts'
import { hkdfSha256 } from '../../src/client/crypto/hashes.ts'
import { createClient, deriveKeys, encryptBookmark } from '../../src/client/index.ts'
import {
  cancelPairing,
  offerPairing,
  type PairingPictures,
  reservePairing,
  takePairing,
} from '../../src/client/pair.ts'
import { pairingMs, reservedMs } from '../../src/protocol/pairing.ts'
import { startService } from '../../src/service/testing.ts'
import { buildApp } from '../support/app.ts'
import { snapshot } from '../support/database.ts'
import { until } from '../support/until.ts'
import { clientOver } from './connection.ts'

/** A clock for devices that poll often. A test makes time pass by setting `at` (ms). */
const clock = { at: 0, now: () => Date.now() + clock.at, sleep: () => sleep(2) }
let serviceNow = clock.now
t.afterEach(() => {
  clock.at = 0
})
const service = await startService({ now: () => serviceNow() })
t.teardown(() => service.close())
/** Stops the devices that still wait when the tests end. */
const over = new AbortController()
t.teardown(() => over.abort())

type Change = (request: Request, answer: () => Promise<Response>) => Promise<Response>

/** Devices of Ann and of Bob, whose `change` may alter the service's responses. @param now the service's clock */
async function household(now = clock.now) {
  serviceNow = now
  const users = { ann: await service.connect(randomUUID()), bob: await service.connect(randomUUID()) }
  const deviceOf = (name: string, user: keyof typeof users = 'ann', change: Change = (_, answer) => answer()) => {
    const { baseUrl, userId, fetch } = users[user]
    const client = createClient({
      baseUrl,
      deviceId: name,
      fetch: (request) => change(request.clone(), () => fetch(request)),
    })
    return { client, userId, clock, signal: over.signal }
  }
  return { deviceOf }
}

/** A phone that scans the code. Its person compares the pictures until `said` resolves. */
function scan(
  device: Parameters<typeof offerPairing>[0],
  code: string,
  name = 'Safari on iPhone',
  said: Promise<void> = Promise.resolve(),
) {
  const pictures = Promise.withResolvers<PairingPictures>()
  const compare = async (seen: PairingPictures) => {
    pictures.resolve(seen)
    await said
  }
  const vault = takePairing({ ...device, code, name, compare })
  vault.catch(pictures.reject)
  pictures.promise.catch(() => {})
  return { pictures: pictures.promise, vault }
}

const faultOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    ({ fault, message }) => fault ?? message,
  )

t.test('A phone that the person admits gets the keys, and both devices show the same pictures', async (t) => {
  for (const keys of [1, 3, 380]) {
    const { deviceOf } = await household()
    const masterKey = randomBytes(32 * keys)
    const offer = await offerPairing(deviceOf('laptop'))
    t.match(offer.code, /^[\w-]{43}$/)
    const phone = scan(deviceOf('phone'), offer.code)
    const guest = await offer.guest()
    t.equal(guest.name, 'Safari on iPhone')
    t.same(await phone.pictures, guest.pictures)
    t.ok(guest.pictures.length === 3 && guest.pictures.every((picture) => picture >= 0 && picture < 64))
    await guest.admit(masterKey)
    const vault = await phone.vault
    t.same(vault.masterKey, new Uint8Array(masterKey))
    t.equal(vault.keys.recordKey.length, 32)
  }
})

t.test('Each pairing has different pictures, and a code that differs in each of its parts', async (t) => {
  const { deviceOf } = await household()
  const seen = new Set<string>()
  const parts = new Set<string>()
  for (let n = 0; n < 8; n++) {
    const offer = await offerPairing(deviceOf('laptop'))
    scan(deviceOf('phone'), offer.code).vault.catch(() => {})
    seen.add((await offer.guest()).pictures.join())
    for (let at = 0; at < 32; at += 8) parts.add(Buffer.from(offer.code, 'base64url').toString('hex', at, at + 8))
  }
  t.equal(parts.size, 32)
  t.ok(seen.size >= 7, [...seen].join(' '))
})

t.test('A reloaded phone ends the pairing, and the laptop learns this before the person decides', async (t) => {
  const { deviceOf } = await household()
  const offer = await offerPairing(deviceOf('laptop'))
  const first = scan(deviceOf('phone'), offer.code)
  const guest = await offer.guest()
  await first.pictures
  const waiting = faultOf(guest.admitted())
  t.equal(await faultOf(scan(deviceOf('phone'), offer.code).vault), 'taken', 'a reloaded phone cannot continue')
  await cancelPairing({ ...deviceOf('his', 'bob'), code: offer.code })
  await cancelPairing({ ...deviceOf('phone'), code: offer.code })
  t.equal(await waiting, 'over')
  const next = await offerPairing(deviceOf('laptop'))
  const phone = scan(deviceOf('phone'), next.code)
  const again = await next.guest()
  await Promise.all([again.admit(randomBytes(32)), again.admitted(), phone.vault])
})

t.test('A code works for one device of the same user, for two minutes', async (t) => {
  const { deviceOf } = await household()
  const offer = await offerPairing(deviceOf('laptop'))
  t.equal(await faultOf(scan(deviceOf('his', 'bob'), offer.code).vault), 'over', 'another user')
  const phones = ['one', 'two', 'three'].map((name) => scan(deviceOf(name), offer.code, name))
  const guest = await offer.guest()
  await guest.admit(randomBytes(32))
  const faults = await Promise.all(phones.map(({ vault }) => faultOf(vault)))
  t.same(faults.toSorted(), ['none', 'taken', 'taken'])
  t.equal(faults[phones.findIndex((_, n) => ['one', 'two', 'three'][n] === guest.name)], 'none')
  // The laptop may be done before the service has erased the pairing.
  await until(async () => (await faultOf(scan(deviceOf('late'), offer.code).vault)) === 'over')

  const replaced = await offerPairing(deviceOf('laptop'))
  const old = await offerPairing(deviceOf('laptop'))
  t.equal(await faultOf(replaced.guest()), 'over', 'a newer code was shown')
  clock.at = pairingMs
  t.equal(await faultOf(scan(deviceOf('phone'), old.code).vault), 'over')
  t.equal(await faultOf(old.guest()), 'over')
  t.equal(await faultOf(scan(deviceOf('phone'), 'x'.repeat(42)).vault), 'malformed')
})

t.test("A reserved code waits ten minutes for the person's sign-in, and no longer", async (t) => {
  for (const [waited, fault] of [
    [reservedMs - 5_000, 'none'],
    [reservedMs, 'over'],
  ] as const) {
    const { deviceOf } = await household()
    const scanned = Promise.withResolvers<void>()
    const offer = await offerPairing({ ...deviceOf('laptop'), onReserved: scanned.resolve })
    const met = offer.guest()
    met.catch(() => {})
    const { client, userId } = deviceOf('phone')
    // This client has no session.
    const { baseUrl } = await service.connect(randomUUID())
    const nobody = createClient({ baseUrl, deviceId: 'phone' })
    t.equal(await faultOf(reservePairing(nobody, { userId, code: 'A'.repeat(43) })), 'over')
    t.equal(await faultOf(reservePairing(nobody, { userId, code: 'x' })), 'malformed')
    await reservePairing(nobody, { userId, code: offer.code })
    await scanned.promise
    clock.at += waited
    const phone = scan({ ...deviceOf('phone'), client }, offer.code)
    if (fault === 'none') await (await met).admit(randomBytes(32))
    t.equal(await faultOf(phone.vault), fault)
    t.equal(await faultOf(met), fault)
    clock.at = 0
  }
})

t.test('Of two phones with one code, the slower one gets an error, and does not disturb the other', async (t) => {
  const { deviceOf } = await household()
  const [hasRead, isFirst, isOver] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  const slowly: Change = async (request, answer) => {
    if (request.method === 'PUT') {
      hasRead?.resolve()
      await isFirst?.promise
    }
    return answer()
  }
  const patiently: Change = async (request, answer) => {
    if (request.method === 'PUT' && (await request.json()).step === 3) {
      isFirst?.resolve()
      await isOver?.promise
    }
    return answer()
  }
  const offer = await offerPairing(deviceOf('laptop'))
  const slow = scan(deviceOf('slow', 'ann', slowly), offer.code)
  await hasRead?.promise
  scan(deviceOf('fast', 'ann', patiently), offer.code, 'fast').vault.catch(() => {})
  const met = offer.guest()
  t.equal(await faultOf(slow.vault), 'taken')
  isOver?.resolve()
  t.equal((await met).name, 'fast')
})

t.test('The device itself ends a pairing after two minutes, whatever the service reports', async (t) => {
  const { deviceOf } = await household(Date.now)
  const offer = await offerPairing(deviceOf('laptop'))
  const waiting = faultOf(offer.guest())
  clock.at = pairingMs
  t.equal(await waiting, 'over')
})

t.test('An answer that the service holds back until the two minutes are over is not accepted', async (t) => {
  const { deviceOf } = await household(Date.now)
  const late: Change = async (request, answer) => {
    const response = await answer()
    if (request.method === 'GET' && (await response.clone().json()).step === 1) clock.at = pairingMs
    return response
  }
  const offer = await offerPairing(deviceOf('laptop', 'ann', late))
  scan(deviceOf('phone'), offer.code).vault.catch(() => {})
  t.equal(await faultOf(offer.guest()), 'over')
})

t.test('After the laptop has sent its public key, its code allows no second attempt', async (t) => {
  const { deviceOf } = await household()
  const sent: number[] = []
  const laptop = deviceOf('laptop', 'ann', async (request, answer) => {
    const response = await answer()
    if (request.method === 'PUT') sent.push((await request.json()).step)
    if (request.method === 'PUT' || sent.length < 2) return response
    // An attacker replaces the answer to the public key.
    return Response.json({ ...(await response.json()), step: 3, message: Buffer.alloc(40).toString('base64') })
  })
  const offer = await offerPairing(laptop)
  scan(deviceOf('phone'), offer.code).vault.catch(() => {})
  for (const _ of ['first', 'again']) t.equal(await faultOf(offer.guest()), 'altered')
  t.same(sent, [0, 2])
})

t.test('The phone accepts the keys only after the person has confirmed the pictures on it, too', async (t) => {
  const { deviceOf } = await household()
  const said = Promise.withResolvers<void>()
  const offer = await offerPairing(deviceOf('of somebody else'))
  const phone = scan(deviceOf('phone'), offer.code, 'phone', said.promise)
  const guest = await offer.guest()
  let isOver = false
  const admitted = guest.admit(randomBytes(32)).then(() => {
    isOver = true
  })
  for (let looks = 0; looks < 20; looks++) await clock.sleep()
  t.notOk(isOver)
  said.resolve()
  await phone.vault
  await admitted
})

t.test('The phone does not accept keys that open none of the newest bookmarks', async (t) => {
  const { deviceOf } = await household()
  const [own, others] = [randomBytes(32), randomBytes(32)]
  const laptop = deviceOf('laptop')
  const bookmark = { id: 'one', title: 'One', source: 'bookmarks' as const }
  const change = { id: 'event', entity_type: 'bookmark', entity_id: 'one', operation: 'create', timestamp: 1 } as const
  const sealed = encryptBookmark(deriveKeys(own), bookmark)
  await laptop.client.POST('/api/v1/sync/push', { body: { changes: [{ ...change, device_id: 'laptop', ...sealed }] } })
  for (const [masterKey, fault] of [
    [others, 'foreign'],
    [own, 'none'],
    [Buffer.concat([others, own]), 'none'],
  ] as const) {
    const offer = await offerPairing(laptop)
    const phone = scan(deviceOf('phone'), offer.code)
    const guest = await offer.guest()
    guest.admit(masterKey).catch(() => {})
    t.equal(await faultOf(phone.vault), fault)
  }
})

t.test('A phone whose code was written only from the format’s description is admitted', async (t) => {
  const { deviceOf } = await household()
  const laptop = deviceOf('laptop')
  const offer = await offerPairing(laptop)
  const code = Buffer.from(offer.code, 'base64url')
  const derive = (secret: Uint8Array, info: string) => Buffer.from(hkdfSync('sha256', secret, '', info, 32))
  const id = derive(code, 'ebs/pairing-id/1').subarray(0, 16).toString('hex')
  const params = { params: { path: { id } } }
  const path = '/api/v1/account/pairings/{id}'
  const { client, userId } = deviceOf('phone')
  const place = (step: number) => Buffer.from(`ebs/pairing/1\0${userId}\0${id}\0${step}`)
  const send = async (step: number, key: Buffer, text: Buffer) => {
    const nonce = randomBytes(24)
    const message = Buffer.concat([nonce, xchacha20poly1305(key, nonce, place(step)).encrypt(text)]).toString('base64')
    t.ok((await client.PUT(path, { ...params, body: { step, message } })).response.ok)
  }
  const receive = async (step: number, key: Buffer) => {
    for (;;) {
      const { data } = await client.GET(path, params)
      const bytes = Buffer.from(data?.message ?? '', 'base64')
      if (data?.step === step)
        return Buffer.from(xchacha20poly1305(key, bytes.subarray(0, 24), place(step)).decrypt(bytes.subarray(24)))
      await clock.sleep()
    }
  }
  const codeKey = derive(code, 'ebs/pairing/1')
  const guest = offer.guest()
  const promised = await receive(0, codeKey)
  const ecdh = createECDH('prime256v1')
  const own = ecdh.generateKeys()
  await send(1, codeKey, Buffer.concat([own, Buffer.from('by hand'.repeat(20))]))
  const theirs = await receive(2, codeKey)
  t.same(derive(theirs, 'ebs/pairing-commitment/1'), promised)
  const material = Buffer.concat([code, ecdh.computeSecret(theirs), theirs, own])
  const key = derive(material, 'ebs/pairing-key/1')
  await send(3, key, Buffer.of())
  const { name, pictures, admit } = await guest
  t.equal(name, 'by hand'.repeat(20).slice(0, 100))
  t.same(
    pictures,
    [...derive(material, 'ebs/pairing-pictures/1').subarray(0, 3)].map((byte) => byte % 64),
  )
  const masterKey = randomBytes(32)
  const admitted = admit(masterKey)
  t.same(await receive(4, key), masterKey)
  await send(5, key, Buffer.of())
  await admitted
})

t.test('A device that stops ends the pairing at once, and one that was offline for a while continues', async (t) => {
  const { deviceOf } = await household()
  const stop = new AbortController()
  const stopped = await offerPairing({ ...deviceOf('laptop'), signal: stop.signal })
  const waiting = faultOf(stopped.guest())
  stop.abort(new Error('closed'))
  t.equal(await waiting, 'closed')

  const flaky = (): Change => {
    let calls = 0
    return async (_, answer) => {
      const response = await answer()
      if (calls++ % 2 === 0) throw new TypeError('lost on the way back')
      return response
    }
  }
  // The laptop answers before the phone knows that its message has arrived.
  const isAnswered = Promise.withResolvers<void>()
  const unheard: Change = async (request, answer) => {
    const response = await answer()
    if (request.method === 'GET' || (await request.json()).step !== 1 || !response.ok) return response
    await isAnswered.promise
    throw new TypeError('lost on the way back')
  }
  const answering: Change = async (request, answer) => {
    const response = await answer()
    if (request.method === 'PUT' && (await request.json()).step === 2) isAnswered.resolve()
    return response
  }
  const early = await offerPairing(deviceOf('laptop', 'ann', answering))
  scan(deviceOf('phone', 'ann', unheard), early.code, 'unheard').vault.catch(() => {})
  t.equal((await early.guest()).name, 'unheard')

  const offer = await offerPairing(deviceOf('laptop', 'ann', flaky()))
  const phone = scan(deviceOf('phone', 'ann', flaky()), offer.code)
  const masterKey = randomBytes(32)
  await (await offer.guest()).admit(masterKey)
  t.same((await phone.vault).masterKey, new Uint8Array(masterKey))
})

t.test('Any message that the service alters is noticed, and no keys are sent', async (t) => {
  for (const step of [0, 1, 2, 3, 4, 5]) {
    const { deviceOf } = await household()
    const sent: number[] = []
    const altering: Change = async (request, answer) => {
      const response = await answer()
      if (request.method === 'PUT') sent.push((await request.json()).step)
      if (request.method !== 'GET' || !request.url.includes('/pairings/') || !response.ok) return response
      const body = await response.json()
      const message = Buffer.from(body.message, 'base64')
      if (body.step === step) message[step * 6] = (message[step * 6] as number) ^ 1
      return Response.json({ ...body, message: message.toString('base64') })
    }
    const offer = await offerPairing(deviceOf('laptop', 'ann', altering))
    const phone = scan(deviceOf('phone', 'ann', altering), offer.code)
    const [victim, other] = step % 2 === 0 ? [phone.vault, admit()] : [admit(), phone.vault]
    async function admit() {
      await (await offer.guest()).admit(randomBytes(32))
    }
    other.catch(() => {})
    t.equal(await faultOf(victim), 'altered', `message ${step}`)
    if (step < 4) t.notOk(sent.includes(4), 'no keys were sent')
    // Time passes again and again, because the other device may begin to wait for its next message only now.
    const passing = setInterval(() => (clock.at += pairingMs), 2)
    if (step < 4) t.equal(await faultOf(other), 'over')
    clearInterval(passing)
    clock.at = 0
  }
})

t.test("Junk, or the phone's own message, is not accepted as the laptop's answer", async (t) => {
  for (const junk of ['', 'AAAA', Buffer.alloc(39).toString('base64'), Buffer.alloc(40).toString('base64'), '====']) {
    const { deviceOf } = await household()
    const swapped: Change = async (request, answer) => {
      const response = await answer()
      return request.method === 'GET' ? Response.json({ ...(await response.json()), message: junk }) : response
    }
    const offer = await offerPairing(deviceOf('laptop'))
    t.equal(await faultOf(scan(deviceOf('phone', 'ann', swapped), offer.code).vault), 'altered', junk)
  }
  // The service returns the phone's own message to it.
  const { deviceOf } = await household()
  let own: object = {}
  const mirror: Change = async (request, answer) => {
    const response = await answer()
    if (request.method === 'PUT') own = { ...(await request.json()), step: 2 }
    return request.method === 'GET' && 'message' in own ? Response.json({ ...own, expires_at: 1 }) : response
  }
  const offer = await offerPairing(deviceOf('laptop'))
  t.equal(await faultOf(scan(deviceOf('phone', 'ann', mirror), offer.code).vault), 'altered')
})

t.test('An operator with a photo of the code cannot choose a key that leads to the same pictures', async (t) => {
  const { deviceOf } = await household()
  const laptop = deviceOf('laptop')
  const offer = await offerPairing(laptop)
  const secret = Buffer.from(offer.code, 'base64url')
  const id = hkdfSha256(secret, 'ebs/pairing-id/1').subarray(0, 16)
  const place = (step: number) =>
    Buffer.from(['ebs/pairing/1', laptop.userId, Buffer.from(id).toString('hex'), step].join('\0'))
  const { publicKey } = await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits'])
  const chosen = new Uint8Array(await crypto.subtle.exportKey('raw', publicKey))
  const nonce = randomBytes(24)
  const message = Buffer.concat([nonce, seal(hkdfSha256(secret, 'ebs/pairing/1'), nonce, place(2), chosen)])
  // Encrypted with the code, but has another public key than the laptop committed to.
  const between: Change = async (request, answer) => {
    const response = await answer()
    if (request.method !== 'GET') return response
    const body = await response.json()
    return Response.json(body.step === 1 ? { ...body, step: 2, message: message.toString('base64') } : body)
  }
  t.equal(await faultOf(scan(deviceOf('phone', 'ann', between), offer.code).vault), 'altered')
})

t.test('The operator, who sees all that the service stores, logs and receives, can decrypt nothing', async (t) => {
  const app = await buildApp(t, { LOG_LEVEL: 'trace' })
  const [page, mobile] = [await app.user('ann'), await app.user('ann')]
  const { userId } = page
  const masterKey = randomBytes(32)
  const received: string[] = []
  const deviceOf = (session: typeof page, deviceId: string) => {
    const call: typeof session.call = async (method, path, request) => {
      received.push(JSON.stringify([method, path, request?.headers, request?.payload?.toString()]))
      const answer = await session.call(method, path, request)
      received.push(await snapshot(app.context))
      return answer
    }
    return { client: clientOver({ session: { ...session, call } }, deviceId), userId, clock }
  }
  const offer = await offerPairing(deviceOf(page, 'laptop'))
  const phone = scan(deviceOf(mobile, 'phone'), offer.code)
  await (await offer.guest()).admit(masterKey)
  t.same((await phone.vault).masterKey, new Uint8Array(masterKey))

  const all = [...received, ...app.log].join('\n')
  const messages = messagesIn(all)
  t.same([...messages.keys()].toSorted(), [0, 1, 2, 3, 4, 5], 'all messages went through the service')
  const nonces = [...messages.values()].map((bytes) => bytes.toString('hex', 0, 24))
  t.equal(new Set(nonces).size, 6, 'no nonce is used twice')
  const secret = Buffer.from(offer.code, 'base64url')
  for (const bytes of [masterKey, secret]) {
    for (const form of ['hex', 'base64', 'base64url'] as const) t.notMatch(all, bytes.toString(form).slice(0, 40), form)
  }
  t.notMatch(all, 'Safari on iPhone', 'nor does the service learn the device’s name')

  // Each text that the service has seen is tried as a key and as the code: its first 32 bytes, and 32 after a nonce.
  const seen = new Set<string>()
  for (const [text] of all.matchAll(/[\w+/=-]{16,}/g)) {
    for (const form of ['hex', 'base64'] as const) {
      const bytes = Buffer.from(text, form)
      for (const at of [0, 24]) if (bytes.length >= at + 32) seen.add(bytes.subarray(at, at + 32).toString('latin1'))
    }
  }
  const ids = [...all.matchAll(/pairings\/([0-9a-f]{32})/g)].map(([, id = '']) => id)
  const opensAny = (code: Uint8Array) => opened(messages, code, userId, ids[0] ?? '')
  t.ok(seen.size > 10, `${seen.size} candidates`)
  for (const candidate of seen) t.same(opensAny(Buffer.from(candidate, 'latin1')), [])
  t.same(opensAny(secret), [0, 1, 2], 'with the code, somebody can open the greetings later, but not the keys')
  const [one, two] = [1, 2].map((step) => {
    const bytes = messages.get(step) as Buffer
    const place = Buffer.from(['ebs/pairing/1', userId, ids[0], step].join('\0'))
    return open(hkdfSha256(secret, 'ebs/pairing/1'), bytes.subarray(0, 24), place, bytes.subarray(24))?.subarray(0, 65)
  })
  t.match([one?.length, two?.length], [65, 65], 'the greetings contain public keys')
  for (const known of [[two, one], [two], [one], [Buffer.alloc(32), two, one]]) {
    const material = Buffer.concat([secret, ...known.map((part) => part ?? Buffer.of())])
    t.same(opensAny(material), [], 'the public keys do not help either')
  }
})

t.test('The private keys do not leave WebCrypto', async (t) => {
  const made = t.capture(crypto.subtle, 'generateKey', crypto.subtle.generateKey.bind(crypto.subtle))
  const { deviceOf } = await household()
  const offer = await offerPairing(deviceOf('laptop'))
  scan(deviceOf('phone'), offer.code).vault.catch(() => {})
  await offer.guest()
  t.same(
    made().map(({ args }) => args[1]),
    [false, false],
  )
})

t.test('A pairing that is complete, cancelled or failed leaves nothing with the service', async (t) => {
  const app = await buildApp(t)
  const { userId, ...session } = await app.user('ann')
  const quick = { now: Date.now, sleep: (_: number, signal?: AbortSignal) => sleep(2, undefined, { signal }) }
  const deviceOf = (name: string, signal = over.signal) => {
    return { client: clientOver({ session: { userId, ...session } }, name), userId, clock: quick, signal }
  }
  const rows = () => app.context.database.db.selectFrom('pairings').select(['step', 'message']).execute()
  const isGone = async (how: string) => {
    await until(async () => (await rows()).length === 0)
    t.pass(how)
  }

  const offer = await offerPairing(deviceOf('laptop'))
  const phone = scan(deviceOf('phone'), offer.code)
  await (await offer.guest()).admit(randomBytes(32))
  await phone.vault
  await isGone('complete')

  const early = new AbortController()
  const unseen = await offerPairing(deviceOf('laptop', early.signal))
  const nobody = faultOf(unseen.guest())
  early.abort()
  await isGone('cancelled before the code was scanned')
  await nobody

  for (const device of ['laptop', 'phone']) {
    const stop = new AbortController()
    const signalOf = (name: string) => (name === device ? stop.signal : over.signal)
    const offer = await offerPairing(deviceOf('laptop', signalOf('laptop')))
    const comparing = Promise.withResolvers<void>().promise
    const ended = faultOf(scan(deviceOf('phone', signalOf('phone')), offer.code, 'phone', comparing).vault)
    const guest = await offer.guest()
    t.equal((await rows()).length, 1)
    stop.abort()
    await isGone(`the ${device} cancels while the pictures are compared`)
    const other = device === 'laptop' ? ended : faultOf(guest.admit(randomBytes(32)))
    t.equal(await other, 'over', 'the other device learns it at once')
  }

  const refused = await offerPairing(deviceOf('laptop'))
  const met = faultOf(refused.guest())
  const compare = async () => {
    throw new Error('they differ')
  }
  t.equal(
    await faultOf(takePairing({ ...deviceOf('phone'), code: refused.code, name: 'phone', compare })),
    'they differ',
  )
  await isGone('the pairing fails on the phone')
  await met
})

/** The pairing's messages in this text, by their steps. */
function messagesIn(all: string): Map<number, Buffer> {
  const bodies = all.matchAll(/\\"step\\":(\d),\\"message\\":\\"([^\\]+)\\"/g)
  return new Map([...bodies].map(([, step, message = '']) => [Number(step), Buffer.from(message, 'base64')]))
}

/** The steps of the messages that this key, or one derived from it, opens. */
function opened(messages: Map<number, Buffer>, key: Uint8Array, userId: string, id: string): number[] {
  const labels = ['ebs/pairing/1', 'ebs/pairing-key/1', 'ebs/pairing-id/1', 'ebs/pairing-commitment/1']
  const keys = labels.map((label) => hkdfSha256(key, label))
  if (key.length === 32) keys.push(key)
  return [...messages].flatMap(([step, bytes]) => {
    const place = Buffer.from(['ebs/pairing/1', userId, id, step].join('\0'))
    return keys.some((one) => open(one, bytes.subarray(0, 24), place, bytes.subarray(24))) ? [step] : []
  })
}
