import { Histogram, type HistogramConfiguration } from 'prom-client'

type Labels = Record<string, string>

/**
 * A histogram whose series are kept by whoever observes. prom-client finds them by a text that it makes of the labels for
 * each value, which would be a twentieth of a small request.
 */
export class SeriesHistogram extends Histogram {
  readonly #config: HistogramConfiguration<string> & { buckets: number[] }
  readonly #series = new Map<string, Series>()

  constructor(config: HistogramConfiguration<string> & { buckets: number[] }) {
    super(config)
    this.#config = config
  }

  /** The same for the same labels. */
  series(labels: Labels): Series {
    const key = JSON.stringify(labels)
    const series = this.#series.get(key) ?? new Series(labels, this.#config.buckets)
    this.#series.set(key, series)
    return series
  }

  /** What the registry asks of a histogram. */
  async getForPromString() {
    const { name, help } = this.#config
    const used = [...this.#series.values()].filter(({ count }) => count > 0)
    return { name, help, type: 'histogram', aggregator: 'sum', values: used.flatMap((series) => series.values(name)) }
  }
}

/** The values that were observed under the same labels. */
export class Series {
  count = 0
  readonly #labels: Labels
  readonly #bounds: number[]
  readonly #counts: number[]
  #sum = 0

  constructor(labels: Labels, bounds: number[]) {
    this.#labels = labels
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.count++
    this.#sum += value
    const index = this.#bounds.findIndex((bound) => value <= bound)
    if (index >= 0) this.#counts[index] = (this.#counts[index] ?? 0) + 1
  }

  /** As prom-client has them: each bucket includes those below it. */
  values(name: string) {
    const sharedLabels = this.#labels
    let total = 0
    const upTo = (le: number | string, value: number) => ({
      labels: { le },
      sharedLabels,
      value,
      metricName: `${name}_bucket`,
    })
    const buckets = this.#bounds.map((bound, index) => {
      total += this.#counts[index] ?? 0
      return upTo(bound, total)
    })
    return [
      ...buckets,
      upTo('+Inf', this.count),
      { labels: {}, sharedLabels, value: this.#sum, metricName: `${name}_sum` },
      { labels: {}, sharedLabels, value: this.count, metricName: `${name}_count` },
    ]
  }
}
