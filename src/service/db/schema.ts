import type { Generated } from 'kysely'
import type { Schemas } from '../contract/schemas.ts'

/** The tables that migrations/schema-3.0.0.ts makes. Times are Unix ms; booleans are 0 or 1; *_sealed is sealed by seal/seal.ts. */
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
    /** When the user set it; 0 if it is still the service's own. */
    export_key_set_at: Generated<number>
    /** The newest sequence number given to a change of this user. */
    last_sequence: Generated<number>
    live_bookmarks: Generated<number>
    /** All of the user's ciphertext: that of records, deleted ones too, and of kept versions. */
    stored_bytes: Generated<number>
    /** How much of it only kept versions hold, and no live record: what can be erased to make room. */
    version_bytes: Generated<number>
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
    /** The contract's `digest`, of all types and of two of them. */
    digest: Generated<string>
    history_digest: Generated<string>
    group_digest: Generated<string>
    /** The user's epoch since this account alone went back to a backup; null for everybody's. */
    own_epoch: Generated<string | null>
    created_at: number
    /** Since when the operator lets nobody sign in as this user; null if anybody may. */
    disabled_at: Generated<number | null>
    /** How many deleted bookmarks the user has erased from old sign-ins, in the day from `old_purges_since` on. */
    old_purges: Generated<number>
    old_purges_since: Generated<number>
  }
  /** Who signs in as which user: the one thing that is looked up before the user is known. */
  identities: {
    issuer: string
    subject: string
    user_id: string
  }
  /** Providers whose ID tokens say when the person signed in, and since when they have. */
  providers: {
    issuer: string
    auth_time_since: number
  }
  /** Users who are gone, until nothing is left of what they had. */
  deletions: {
    user_id: string
    deleted_at: number
    /** Until then, nothing is erased. */
    erase_at: Generated<number>
    /** Who the user was, as JSON, as long as the deletion can be undone (db/tables/deletions.ts). */
    person: Generated<string | null>
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
    /** If set, no session of the login lasts longer, unless the provider accepts a refresh (auth/refresh.ts). */
    ends_at: Generated<number | null>
    created_at: number
    /** When the provider had last asked the person who they are; null if it never says so, 0 if it did not this time. */
    authenticated_at: Generated<number | null>
    /** At the sign-in; empty if it is not known. */
    user_agent: string
    /** The hour in which it was last used. */
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
    /** The sequence number of its newest change. */
    sequence: number
    /** When that was stored, by the service's clock. The sequence number is greater at times: it only says the order. */
    stored_at: number
    event_id: string
    operation: Schemas['Operation']
    timestamp: number
    device_id: string
    /** The contract's; null unless a conflict was resolved. */
    resolution_strategy: string | null
    /** The contract's `overwritten` as JSON; null if there are none. */
    overwritten: string | null
    /** The length of its ciphertext. A deleted record keeps it. */
    bytes: number
    /** The sequence number of the change that brought the ciphertext; null if none has, or if it was erased. */
    data_sequence: number | null
    /** The sequence number and time of the entity's first change. */
    first_sequence: number
    first_stored_at: number
    /** How many versions of it are kept. */
    versions: number
  }
  /** A row is never changed: another version has another sequence number. A restored one shares it. */
  ciphertexts: {
    user_id: string
    sequence: number
    encrypted_data: string
  }
  /** The versions of each entity that were replaced, or that lost when they arrived. */
  versions: {
    user_id: string
    /**
     * The sequence number of the change that replaced it, or its own if it lost: greater for what became a version
     * later.
     */
    sequence: number
    /** When it became a version, by the service's clock. */
    stored_at: number
    /** How many ms the clock was behind then: it is kept that much longer. */
    behind: number
    entity_type: Schemas['EntityType']
    entity_id: string
    /** The event id of the change that made it. */
    version_id: string
    operation: Schemas['Operation']
    timestamp: number
    device_id: string
    data_hash: string | null
    /** The sequence number with which it became current, and when that was; null if it never did. */
    began: number | null
    began_at: number | null
    /** When what replaced or beat it was stored. */
    ended_at: number
    reason: Schemas['VersionReason']
    /** The event id of that change. */
    replaced_by: string
    settled_at: number | null
    /** 1 if it had ciphertext, and what replaced it is a delete. */
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
    /** As the user's device sent it; null without a name. */
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
    /** Increased by each claim; a worker whose fence is no longer the stored one has lost the job. */
    fence: Generated<number>
    lease_until: Generated<number>
    /** The completed export's file in the object store. */
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
    /** 1 once a device has scanned the code on which nobody is signed in yet. */
    reserved: Generated<number>
    expires_at: number
  }
  /** One row. */
  epoch: {
    /** The contract's `epoch`. */
    id: string
    /** 1 in a copy that nothing has been started on yet: its first start begins a new epoch. */
    restored: Generated<number>
  }
  /** The limits by which things are erased for good: see operating/limits-guard.ts. */
  limits_in_force: {
    variable: string
    value: number
    /** A smaller value that is configured, and when the log first had it; null if there is none. */
    announced: number | null
    announced_at: number | null
  }
  /** One row. */
  heartbeat: {
    /** When a probe last wrote, by the database's clock. */
    probed_at: number
    /** See operating/clock.ts: the last time that was believed, null until the first is, */
    believed_at: number | null
    /** the last time at all, */
    judged_at: number | null
    /** and for how many ms the service has run since without believing it; null if it does. */
    doubted_ms: number | null
  }
  /** The migrations of migrations/index.ts that this database has. */
  applied_migrations: {
    name: string
    is_required: number
    applied_at: number
  }
}

export type RecordsTable = Schema['records']
export type CiphertextsTable = Schema['ciphertexts']
export type VersionsTable = Schema['versions']
