import type { Generated } from 'kysely'
import type { Schemas } from '../contract/schemas.ts'

/** One schema for every database. Times are Unix ms; booleans are 0 or 1; *_sealed is sealed by seal/seal.ts. */
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
    /** When the user set it; 0 if it is still the service's own, null if that is not known. */
    export_key_set_at: number | null
    /** The newest sequence number given to a change of this user. */
    last_stamp: Generated<number>
    live_bookmarks: Generated<number>
    /** All of the user's ciphertext: that of records, deleted ones too, and of kept versions. */
    stored_bytes: Generated<number>
    /** How much of it only kept versions hold, and no live record: what can be erased to make room. */
    version_bytes: Generated<number>
    /** When the deleted records were last looked through for such as have ciphertext, but no version that has it. */
    trash_checked_at: Generated<number>
    /** The sequence number up to which they were; null if that is not known. */
    trash_checked_to: Generated<number | null>
    /** Rows in `records`, including tombstones. */
    stored_records: Generated<number>
    /** How many of them are deleted, and nothing is kept of them: neither ciphertext nor a version. */
    empty_tombstones: Generated<number>
    /** A sequence number that all of these are after. */
    empty_tombstones_after: Generated<number>
    /** How many bytes the user may store; null for MAX_USER_BYTES. */
    max_bytes: Generated<number | null>
    /** Rows in `versions`. */
    stored_versions: Generated<number>
    /** The contract's `digest`, if `digest_stamp` is `last_stamp`: releases without it leave both as they are. */
    digest: Generated<string | null>
    digest_stamp: Generated<number | null>
    created_at: number
    /** Since when the operator lets nobody sign in as this user; null if anybody may. */
    disabled_at: Generated<number | null>
  }
  /** Who signs in as which user: the one thing that is looked up before the user is known. */
  identities: {
    issuer: string
    subject: string
    user_id: string
  }
  /** Users who are gone, until nothing is left of what they had. */
  deletions: {
    user_id: string
    deleted_at: number
  }
  logins: {
    id: string
    user_id: string
    provider_token_sealed: string | null
    /** When the provider was last asked to refresh. */
    checked_at: number
    /** Until when a request has the right to ask the provider; 0 if none has. */
    asking_until: Generated<number>
    /** 1 from asking the provider until its response is stored: it may have rotated the token without our knowledge. */
    unanswered: Generated<number>
    /** If set, no token of the login is valid for longer than until then. */
    ends_at: Generated<number | null>
    created_at: number
    /** When the provider had last asked the person who they are; null if it did not say so. */
    authenticated_at: Generated<number | null>
    /** At the sign-in; empty if it is not known. */
    user_agent: Generated<string>
    /** The hour in which it was last used; null if it was by older instances alone. */
    last_used_at: Generated<number | null>
    /** How many deleted bookmarks it has erased, when it was not young any more, in the day from `old_purges_since` on. */
    old_purges: Generated<number>
    old_purges_since: Generated<number>
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
  /** The nonces of completed sign-ins, each until its attempt would have expired: none is of use twice. */
  used_nonces: {
    nonce: string
    expires_at: number
  }
  /** The newest change of each entity. */
  records: {
    user_id: string
    entity_type: Schemas['EntityType']
    entity_id: string
    data_hash: string | null
    created_at: number
    updated_at: number
    deleted_at: number | null
    stamp: number
    /**
     * How many ms `stamp` was ahead of the service's clock when it was given: the change was stored at `stamp - ahead`. Null if
     * that was before these were kept.
     */
    ahead: number | null
    event_id: string
    operation: Schemas['Operation']
    timestamp: number
    device_id: string
    conflict_resolved: number
    resolution_strategy: string | null
    /** The contract's `overwritten` as JSON; null if there are none. */
    overwritten: string | null
    /** The length of its ciphertext. A deleted record keeps it. */
    bytes: number
    /** The sequence number of the change that brought the ciphertext; null if none has, or if it was erased. */
    data_stamp: number | null
    /** The sequence number of the entity's first change; null if that was before these were kept. */
    first_stamp: number | null
    /** As `ahead`, of `first_stamp`. */
    first_ahead: number | null
    /** How many versions of it are kept. */
    versions: number
  }
  /** A row is never changed: another version has another sequence number. A restored one shares it. */
  ciphertexts: {
    user_id: string
    stamp: number
    encrypted_data: string
  }
  /** The versions of each entity that were replaced, or that lost when they arrived. */
  versions: {
    user_id: string
    /** Of the change that replaced it, or its own if it lost: greater for what became a version later. */
    seq: number
    /** As in `records`: how far `seq`, `began` and `ended` were ahead of the clock. */
    ahead: number | null
    began_ahead: number | null
    ended_ahead: number | null
    /** How many ms the clock was behind when it became a version: it is kept that much longer. Null if it was not. */
    behind: number | null
    entity_type: Schemas['EntityType']
    entity_id: string
    /** The event id of the change that made it. */
    version_id: string
    operation: Schemas['Operation']
    timestamp: number
    device_id: string
    data_hash: string | null
    /** The sequence number with which it became current; null if it never did. */
    began: number | null
    /** The sequence number of the change that replaced or beat it. */
    ended: number
    reason: Schemas['VersionReason']
    /** The event id of that change. */
    replaced_by: string
    settled_at: number | null
    /** 1 if it had ciphertext, and what replaced it is a delete. */
    was_deleted: number
    /** The length of its ciphertext. */
    bytes: number
    /** As in `records`; null for a delete. */
    data_stamp: number | null
  }
  devices: {
    user_id: string
    device_id: string
    /** The sequence number up to which the device has pulled. */
    cursor: number
    last_sync: number
  }
  /** The last rejected change of each entity whose conflict is not settled yet, if the service keeps no versions. */
  rejections: {
    user_id: string
    entity_type: Schemas['EntityType']
    entity_id: string
    device_id: string
    /** Sequence number of the version that won; the device knows of it once it has pulled that far. */
    winner_stamp: number
    created_at: number
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
    /** Increased by each claim; a worker whose fence is no longer the stored one has lost the job. */
    fence: Generated<number>
    lease_until: Generated<number>
    /** Where the file of a completed export is in the object store. */
    object_key: string | null
    /** The export key that the file is encrypted with. */
    key_sealed: string
  }
  keyrings: {
    user_id: string
    keyring: string
    revision: number
  }
  /** Keyrings that were replaced. Nobody gets at them but by restoring one. */
  keyring_versions: {
    id: string
    user_id: string
    /** That it had. */
    revision: number
    keyring_sealed: string
    replaced_at: number
  }
  /** The last message of each user's pairing of a new device. */
  pairings: {
    user_id: string
    /** The contract's, which the device has made. */
    id: string
    step: number
    message: string
    expires_at: number
  }
  /** One row. */
  epoch: {
    /** The contract's `epoch`. */
    id: string
    /** 1 in a copy that nothing has been started on yet: its first start begins a new epoch. */
    restored: Generated<number>
  }
  /** One row. */
  heartbeat: {
    /** As `judged_at`; or, if an instance of 2.0.0 has run since, when that last probed the database, by its clock (Unix ms). */
    at: number
    /** Since when the times of sequence numbers are kept. */
    times_since: Generated<number | null>
    /** See operating/clock.ts: the last time that was believed, */
    believed_at: Generated<number | null>
    /** the last time at all, */
    judged_at: Generated<number | null>
    /** and for how many ms the service has run since without believing it; null if it does. */
    doubted_ms: Generated<number | null>
  }
  /** Those of migrations/index.ts that are applied. */
  expansions: {
    name: string
  }
}

export type RecordsTable = Schema['records']
export type CiphertextsTable = Schema['ciphertexts']
export type VersionsTable = Schema['versions']
