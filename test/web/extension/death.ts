/**
 * Loaded into the worker before anything else. It counts the worker's calls of `chrome.bookmarks`, its database and the
 * service, and simulates the worker's death at the call that the test has named: that call and later ones have no
 * effect and no result. It also records the types of the messages that the worker's sockets receive.
 */
interface Named {
  storage: { session: { get(name: string): Promise<{ dieAt?: number }>; set(values: { died: number }): Promise<void> } }
  bookmarks: object
}
declare const chrome: Named

const sockets: string[][] = []
Object.assign(globalThis, {
  life: crypto.randomUUID(),
  sockets,
  WebSocket: class extends WebSocket {
    constructor(url: string) {
      super(url)
      const heard: string[] = []
      sockets.push(heard)
      this.addEventListener('message', ({ data }) => heard.push(JSON.parse(data).type))
    }
  },
})

let calls = 0
let last = Number.POSITIVE_INFINITY
const named = chrome.storage.session.get('dieAt').then(({ dieAt = last }) => {
  last = dieAt
})

const bookmarkCalls = ['getTree', 'getSubTree', 'getChildren', 'get', 'create', 'update', 'move', 'remove']
for (const name of bookmarkCalls) mortal(chrome.bookmarks, name)
mortal(globalThis, 'fetch')
const open = IDBDatabase.prototype.transaction
IDBDatabase.prototype.transaction = function (...values) {
  if (++calls < last) return open.apply(this, values)
  die()
  throw new DOMException('The worker is dead', 'InvalidStateError')
}

function mortal(owner: object, name: string): void {
  const methods = owner as Record<string, (...values: unknown[]) => unknown>
  const original = methods[name]?.bind(owner)
  methods[name] = async (...values) => {
    const call = ++calls
    await named
    if (call < last) return original?.(...values)
    die()
    return new Promise(() => {})
  }
}

function die(): void {
  void chrome.storage.session.set({ died: calls })
}
