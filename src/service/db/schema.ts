import type { Generated } from 'kysely'
import type { Schemas } from '../contract/schemas.ts'

/** The tables of migrations/schema-3.0.0.ts. Times are Unix ms, booleans 0 or 1; seal/seal.ts seals *_sealed. */
export interface Schema {
  users: {
    id: string
    issuer: string
    subject: string
    email: string
    name: string
    avatar_url: string
    email_verified: number
    export_key_sealed: string
    /** When the user set the export key; 0 while it is the one that the service made. */
    export_key_set_at: Generated<number>
    /** No change of this user has a greater sequence number: the last one given, or raised since (tables/epoch.ts). */
    last_sequence: Generated<number>
    live_bookmarks: Generated<number>
    /** Bytes of ciphertext of the user's records and versions, including deleted records. */
    stored_bytes: Generated<number>
    /** The ciphertext that only kept versions have, and no live record: it can be erased to make room. */
    version_bytes: Generated<number>
    /** Rows in `records`, including tombstones. */
    stored_records: Generated<number>
    /** The number of tombstones that have neither ciphertext nor versions. */
    empty_tombstones: Generated<number>
    /** A sequence number less than those of all empty tombstones: the search for them starts here. */
    empty_tombstones_after: Generated<number>
    /** The user's quota in bytes; null for MAX_USER_BYTES. */
    max_bytes: Generated<number | null>
    /** Rows in `versions`. */
    stored_versions: Generated<number>
    /** The contract's `digest` of all types, of `history` and of `group`. */
    digest: Generated<string>
    history_digest: Generated<string>
    group_digest: Generated<string>
    /** The user's own epoch, if this account alone was recovered from a backup; otherwise null. */
    own_epoch: Generated<string | null>
    created_at: number
    /** Since when the operator has disabled this user; null if not disabled. */
    disabled_at: Generated<number | null>
    /** How many deleted bookmarks the user erased without a recent sign-in, in the day since `old_purges_since`. */
    old_purges: Generated<number>
    old_purges_since: Generated<number>
  }
  /** The user as whom each person (`subject`) at a provider (`issuer`) signs in. */
  identities: {
    issuer: string
    subject: string
    user_id: string
  }
  /** Providers whose ID tokens have `auth_time`, and since when. */
  providers: {
    issuer: string
    auth_time_since: number
  }
  /** Deleted users, until all of their data is erased. */
  deletions: {
    user_id: string
    deleted_at: number
    /** Nothing is erased before this time. */
    erase_at: Generated<number>
    /** The person as JSON, while the deletion can be undone (db/tables/deletions.ts). */
    person: Generated<string | null>
  }
  logins: {
    id: string
    user_id: string
    provider_token_sealed: string | null
    /** When the provider last accepted a refresh; before the first one, the time of the sign-in. */
    checked_at: number
    /** Until when a request has the lease to ask the provider; 0 if none has. */
    asking_until: Generated<number>
    /** 1 from asking the provider until its response is stored: it may have issued a new token that did not arrive. */
    unanswered: Generated<number>
    /** If set, the login's sessions end at this time, unless the provider accepts a refresh (auth/refresh.ts). */
    ends_at: Generated<number | null>
    created_at: number
    /** When the person last authenticated at the provider; null if it never reports that, 0 if it did not this time. */
    authenticated_at: Generated<number | null>
    /** The `User-Agent` at the sign-in; empty if there was none. */
    user_agent: string
    /** The start of the hour in which the login was last used. */
    last_used_at: number
  }
  tokens: {
    /** SHA-256 of the token, base64url. */
    hash: string
    kind: 'session' | 'refresh'
    user_id: string
    login_id: string
    issued_at: number
    expires_at: number
  }
  /** The nonces of completed sign-ins, until their attempts would have expired: none can be used twice. */
  used_nonces: {
    nonce: string
    expires_at: number
  }
  /** The current version of each entity. */
  records: {
    user_id: string
    entity_type: Schemas['EntityType']
    entity_id: string
    data_hash: string | null
    created_at: number
    updated_at: number
    deleted_at: number | null
    /** The sequence number of its last change. */
    sequence: number
    /** When that change was stored, by the service's clock. Its number may be greater, and only gives the order. */
    stored_at: number
    event_id: string
    operation: Schemas['Operation']
    timestamp: number
    device_id: string
    /** The contract's field; null unless a conflict was resolved. */
    resolution_strategy: string | null
    /** The contract's list as JSON; null if it is empty. */
    overwritten: string | null
    /** The contract's field as JSON; null if there is none. */
    recovered: string | null
    /** The length of its ciphertext. A deleted record keeps it until the ciphertext is erased. */
    bytes: number
    /** The sequence number of the change that brought the ciphertext; null if there was none, or it was erased. */
    data_sequence: number | null
    /** The sequence number and time of the entity's first change. */
    first_sequence: number
    first_stored_at: number
    /** The sequence number of the last version by another device than the current version's; null if there is none. */
    others_sequence: number | null
    /** The number of kept versions. */
    versions: number
    /** Its ciphertext if that is short and not shared with a version; otherwise null, and any is in `ciphertexts`. */
    encrypted_data: string | null
  }
  /**
   * Long ciphertexts, and those of versions. Rows never change, because each version has its own sequence number.
   * Restoring a version adds no row.
   */
  ciphertexts: {
    user_id: string
    sequence: number
    encrypted_data: string
  }
  /** Versions that were replaced, or that lost when they arrived. */
  versions: {
    user_id: string
    /** The sequence number of the change that replaced it, or its own if it lost. So it increases with each version. */
    sequence: number
    /** When it was replaced or rejected, by the service's clock. */
    stored_at: number
    /** How far (ms) the clock was behind then (operating/clock.ts). The version is kept that much longer. */
    behind: number
    entity_type: Schemas['EntityType']
    entity_id: string
    /** The event id of the change that made this version. */
    version_id: string
    operation: Schemas['Operation']
    timestamp: number
    device_id: string
    data_hash: string | null
    /** The sequence number and time at which it became current; null if it never did. */
    began: number | null
    began_at: number | null
    /** When the change that replaced or beat it was stored. */
    ended_at: number
    reason: Schemas['VersionReason']
    /** The event id of the change that replaced or beat it. */
    replaced_by: string
    settled_at: number | null
    /** 1 if it had ciphertext and was replaced by a delete. */
    was_deleted: number
    /** The length of its ciphertext. */
    bytes: number
    /** As in `records`; null for a delete. */
    data_sequence: number | null
  }
  devices: {
    user_id: string
    device_id: string
    /** The sequence number up to which the device has pulled. */
    cursor: number
    last_sync: number
    /** Encrypted by the user's devices; null if the device has no name. */
    encrypted_name: string | null
  }
  exports: {
    id: string
    user_id: string
    status: Schemas['Export']['status']
    created_at: number
    size_bytes: number | null
    bookmark_count: number | null
    expires_at: number | null
    attempts: Generated<number>
    /** Incremented each time a worker claims the job. A worker with a smaller fence has lost it. */
    fence: Generated<number>
    lease_until: Generated<number>
    /** The finished file's key in the object store. */
    object_key: string | null
    /** The key that encrypts the file. */
    key_sealed: string
  }
  keyrings: {
    user_id: string
    keyring: string
    revision: number
  }
  /** Keyrings that were replaced. Devices cannot read one until it is restored. */
  keyring_versions: {
    id: string
    user_id: string
    /** The revision under which it was last current. */
    revision: number
    keyring_sealed: string
    replaced_at: number
  }
  /** The last message of each user's pairing of a new device. */
  pairings: {
    user_id: string
    /** The contract's id, chosen by the device that shows the code. */
    id: string
    step: number
    message: string
    /** 1 once a device where nobody is signed in has scanned the code. */
    reserved: Generated<number>
    expires_at: number
  }
  /** Has a single row. */
  epoch: {
    /** The contract's `epoch`. */
    id: string
    /** 1 in a copy that was never started: its first start begins a new epoch. */
    restored: Generated<number>
  }
  /** The limits that are in force for erasing data: see operating/limits-guard.ts. */
  limits_in_force: {
    variable: string
    value: number
    /** A smaller configured value and when the log first announced it; null if there is none. */
    announced: number | null
    announced_at: number | null
  }
  /** Has a single row. */
  heartbeat: {
    /** When a probe last wrote this row, by the database's clock. */
    probed_at: number
    /** The last time of the clock that the service believed (operating/clock.ts); null in a new database. */
    believed_at: number | null
    /** The last time that the service read from the clock, believed or not. */
    judged_at: number | null
    /** How long (ms) the service has run since `believed_at` while it doubted the clock; null if it believes it. */
    doubted_ms: number | null
    /** Since when the store has objects that this database does not know (upkeep/exports.ts); null if it has none. */
    orphans_since: number | null
    /** When such objects were last looked for. */
    orphans_sought_at: number | null
  }
  /** The applied migrations of migrations/index.ts. */
  applied_migrations: {
    name: string
    is_required: number
    applied_at: number
  }
}

export type RecordsTable = Schema['records']
export type CiphertextsTable = Schema['ciphertexts']
export type VersionsTable = Schema['versions']
