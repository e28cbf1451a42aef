import { SqliteAdapter, SqliteDialect, SqliteQueryCompiler } from 'kysely'

export class ServiceDialect extends SqliteDialect {
  /** SQLite has one writer, whose transaction is the lock: the clauses that lock rows on Postgres are left out. */
  override createQueryCompiler() {
    return new (class extends SqliteQueryCompiler {
      protected override visitSelectModifier() {}
    })()
  }

  /** A start that is interrupted in a migration leaves nothing of it behind. */
  override createAdapter() {
    return new (class extends SqliteAdapter {
      override get supportsTransactionalDdl() {
        return true
      }
    })()
  }
}
