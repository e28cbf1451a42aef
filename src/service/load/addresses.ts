import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** True if the address belongs to a trusted proxy. `hop` is 0 for the socket's address, 1 for the one before it. */
export type Trust = (address: string, hop: number) => boolean

/** Converts `TRUST_PROXY` to a function: a list of networks; a number of hops already is one; false trusts nobody. */
export function createTrust(setting: Trust | readonly string[] | false): Trust {
  if (setting === false) return () => false
  if (typeof setting === 'function') return setting
  const networks = setting.map(readNetwork)
  return (text) => {
    const address = addressOf(text)
    if (address === undefined) return false
    const parsed = ipaddr.parse(address)
    return networks.some(({ network, bits, zone }) => {
      const isSameKind = network.kind() === parsed.kind()
      return isSameKind && (zone === undefined || zone === zoneOf(text)) && parsed.match(network, bits)
    })
  }
}

function readNetwork(range: string) {
  const isRange = ipaddr.isValidCIDR(range)
  const [network, bits] = isRange ? ipaddr.parseCIDR(range) : [ipaddr.parse(range), undefined]
  const zone = isRange ? undefined : zoneOf(range)
  if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && (bits ?? 128) >= 96) {
    return { network: network.toIPv4Address(), bits: (bits ?? 128) - 96, zone }
  }
  return { network, bits: bits ?? (network.kind() === 'ipv4' ? 32 : 128), zone }
}

function zoneOf(text: string): string | undefined {
  return /%([^\]]*)/.exec(text)?.[1]
}

/**
 * Reads an address from a socket or proxy header. Removes ports, brackets around IPv6 and zones; an IPv4 address within
 * IPv6 becomes IPv4. Undefined if the text is not an address.
 */
export function addressOf(text: string): string | undefined {
  const trimmed = text.trim()
  if (isIPv4(trimmed)) return trimmed
  const bare = /^\[(.*)\](?::\d+)?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed
  const version = isIP(bare)
  if (version === 4) return bare
  return version === 6 ? ipaddr.process(bare.replace(/%.*/, '')).toString() : undefined
}

/**
 * Reads X-Forwarded-For from its end while the sender is a trusted proxy. Returns the addresses in the header's order:
 * the first is the caller's. An entry that is not an address ends the list, and counts as the proxy that wrote it, so
 * callers cannot make up entries.
 */
export function readForwarded(header: string, peer: string, trust: Trust): { addresses: string[]; isCut: boolean } {
  const entries = header.split(',')
  const addresses: string[] = []
  for (let last = peer, hop = 0; entries.length > 0 && trust(last, hop); hop++) {
    const address = addressOf(entries.pop() ?? '')
    if (address === undefined) return { addresses: addresses.reverse(), isCut: true }
    addresses.push(address)
    last = address
  }
  return { addresses: addresses.reverse(), isCut: false }
}

/** The key of an address for limits and queues. With IPv6, a subscriber has a whole /64. */
export function networkOf(text: string): string {
  if (isIPv4(text)) return text
  const address = addressOf(text ?? '')
  if (address === undefined || isIPv4(address)) return address ?? text
  return ipaddr.parse(address).toByteArray().slice(0, 8).join('.')
}

/** An address for the log. A network has up to 256 hosts (IPv4) or belongs to one subscriber (IPv6). */
export function shownAddress(text: string, detail: 'none' | 'network' | 'full'): string | undefined {
  if (detail === 'none') return undefined
  const address = addressOf(text)
  if (detail === 'full' || address === undefined) return address
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`)}/64`
}
