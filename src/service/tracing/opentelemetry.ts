import {
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace as spans,
  type Tracer,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { FastifyBaseLogger } from 'fastify'
import packageJson from '../../../package.json' with { type: 'json' }
import { type CallerStep, readCaller, type Trace, type Tracing } from './trace.ts'

/** Sends steps to a collector, configured by OpenTelemetry's own environment variables. */
export function openExporter(log: FastifyBaseLogger): Tracing {
  const complain = (message: string) => log.warn(`OpenTelemetry: ${message}`)
  diag.setLogger({ error: complain, warn: complain, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN)
  const { name, version } = packageJson
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': name, 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  })
  const tracer = provider.getTracer(name, version)
  return {
    isExporting: true,
    begin(name, headers) {
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, contextOf(readCaller(headers)))
      return traceOf(tracer, span)
    },
    close: () => provider.shutdown().catch((error: Error) => complain(error.message)),
  }
}

function contextOf(caller: CallerStep | undefined): Context {
  if (!caller) return ROOT_CONTEXT
  const { traceId, spanId, flags: traceFlags, headers } = caller
  const traceState = createTraceState(headers.tracestate)
  return spans.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, traceState, isRemote: true })
}

function traceOf(tracer: Tracer, span: Span): Trace {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const tracestate = traceState?.serialize()
  return {
    traceId,
    headers: {
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
      ...(tracestate && { tracestate }),
    },
    begin: (name) =>
      traceOf(tracer, tracer.startSpan(name, { kind: SpanKind.CLIENT }, spans.setSpan(ROOT_CONTEXT, span))),
    end(hasFailed) {
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}
