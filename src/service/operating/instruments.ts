import { Counter, Gauge, type Registry } from 'prom-client'

/** The values by their label. */
type Values = Record<string, number>

/** Adds metrics whose values are kept elsewhere, and read when they are asked for. */
export function createInstruments(registry: Registry) {
  const registers = [registry]
  return {
    gauge(name: string, help: string, read: () => number): void {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    },

    gauges(name: string, help: string, label: string, read: () => Values | Promise<Values>): void {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          const values = Object.entries(await read())
          this.reset()
          for (const [key, value] of values) this.set({ [label]: key }, value)
        },
      })
    },

    counter(name: string, help: string, read: () => number): void {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset()
          this.inc(read())
        },
      })
    },

    counters(name: string, help: string, label: string, read: () => Values): void {
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset()
          for (const [key, value] of Object.entries(read())) this.inc({ [label]: key }, value)
        },
      })
    },
  }
}
