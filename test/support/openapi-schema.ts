import { Validator } from '@seriousme/openapi-schema-validator'

interface SchemaCompiler {
  getAjvValidator(version: string): unknown
}

/**
 * When an app opens, fastify-openapi-glue checks openapi.yaml against the schema of OpenAPI. Compiling that schema is most
 * of what opening an app takes: call this once, and each process compiles it once.
 */
export function keepCompiledSchema(): void {
  const compiler = Validator.prototype as unknown as SchemaCompiler
  const { getAjvValidator } = compiler
  const compiled = new Map<string, unknown>()
  compiler.getAjvValidator = function (version) {
    const validate = compiled.get(version) ?? getAjvValidator.call(this, version)
    compiled.set(version, validate)
    return validate
  }
}
