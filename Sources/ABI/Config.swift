/// The host's configuration as the engine's, checked field by field.
///
/// Whatever is not allowed by the header is refused here, before a file is
/// touched. The one copy of the key that is made here is wiped when the opening ends.
internal import Base
internal import CTideline
internal import Engine

/// Opens a client and puts it behind a handle. The hooks' contexts are released
/// when that fails.
func open(_ pointer: UnsafePointer<tl_client_config>?) throws(Failure) -> OpaquePointer {
  let config = try unsafe read(pointer, zero: tl_client_config())
  // A storage that cannot be read is not dropped, as a configuration is not.
  var refusal: Failure?
  var storage: StorageTable?
  do throws(Failure) {
    storage = try unsafe StorageTable(config.storage)
  } catch {
    refusal = error
  }
  let hooks = unsafe Hooks(config, storage)
  do throws(Failure) {
    if let refusal { throw refusal }
    try storage?.check()
    return try unsafe Handle.new(opened(config, hooks), hooks)
  } catch {
    hooks.drop()
    throw error
  }
}

/// Begins a salvage. The host's hooks are not called, and released before it returns; a storage is
/// refused.
func salvage(
  _ pointer: UnsafePointer<tl_client_config>?, to path: tl_view
) throws(Failure) -> Work {
  let config = try unsafe read(pointer, zero: tl_client_config())
  let storage = try unsafe StorageTable(config.storage)
  let hooks = unsafe Hooks(config, storage)
  defer { hooks.drop() }
  if storage != nil { throw .unsupported("a storage; copy the bytes of its objects into files") }
  let path = try unsafe filePath(path)
  let key = try unsafe key(config)
  defer { key.wipe() }
  return try Salvaging.start(unsafe ClientConfig(config, key: key), to: path)
}

private func opened(_ config: tl_client_config, _ hooks: Hooks) throws(Failure) -> Client {
  let key = try unsafe key(config)
  // The engine keeps the reference, so this is the very memory that holds it.
  defer { key.wipe() }
  var target = try unsafe ClientConfig(config, key: key)
  hooks.install(in: &target)
  return try Client.open(target)
}

private let knownFlags = UInt32(
  TL_OPEN_MEMORY | TL_OPEN_EXISTING | TL_OPEN_STRICT | TL_OPEN_AUTO_MARK_READ
    | TL_OPEN_AUTO_MARK_DELIVERED | TL_OPEN_CATCH_UP_ALL | TL_OPEN_FRESH | TL_OPEN_TRACE)

private func has(_ flags: UInt32, _ flag: Int) -> Bool {
  flags & UInt32(truncatingIfNeeded: flag) != 0
}

private func key(_ config: tl_client_config) throws(Failure) -> HostKey {
  guard unsafe has(config.flags, TL_OPEN_MEMORY) else {
    return try unsafe secret(config.key, config.key_kind)
  }
  guard unsafe config.key.size == 0, unsafe Int(config.key_kind) == TL_KEY_RAW else {
    throw .invalid("key is not empty, and memory has none")
  }
  return HostKey([])
}

extension ClientConfig {
  fileprivate init(_ config: tl_client_config, key: HostKey) throws(Failure) {
    let flags = unsafe config.flags
    guard flags & ~knownFlags == 0 else {
      throw .invalid("flags has an unknown flag of the configuration")
    }
    let account = try unsafe config.account.text(
      "account", atMost: Limits.idBytesMax, or: .invalid("account is over 512 bytes"))
    self.init(
      file: try unsafe File(config, key: key), account: account,
      user: try unsafe config.user_id.id("user_id"))
    if let profile = unsafe config.profile {
      self.profile = try unsafe Profile(read(profile, zero: tl_profile()))
    }
    device = try unsafe config.device.text(
      "device", atMost: Limits.idBytesMax, or: .invalid("device is over 512 bytes"))
    guard self.profile.idempotencyScope != .device || !device.isEmpty else {
      throw .invalid("device is empty, and sends are known by device")
    }
    let cache = unsafe config.cache_bytes
    guard cache <= 1 << 40 else { throw .invalid("cache_bytes is over 1 TiB") }
    if cache != 0 { cacheBytes = cache }
    let timeout = unsafe config.request_timeout_ms
    if timeout != 0 { requestTimeoutMs = Int64(timeout) }
    requestsMax = try unsafe count(
      config.requests_max, zero: 4, atMost: Limits.requestsMax, "requests_max is over 64")
    autoMarkRead = has(flags, TL_OPEN_AUTO_MARK_READ)
    autoMarkDelivered = has(flags, TL_OPEN_AUTO_MARK_DELIVERED)
    catchesUpAll = has(flags, TL_OPEN_CATCH_UP_ALL)
    refusesLoss = has(flags, TL_OPEN_FRESH)
    leastCommit = unsafe config.commit_seq
    try unsafe mustBeZero(config.reserved, "reserved is not zero")
    let entries = try unsafe count(
      config.trace_max, zero: 10_000, atMost: Limits.traceMax, "trace_max is over 1,000,000")
    traceMax = has(flags, TL_OPEN_TRACE) ? entries : 0
    seenMs = Int64(
      try unsafe count(
        config.seen_ms, zero: 1_000, atMost: Limits.seenMsMax, "seen_ms is over 3,600,000"))
    seed = .random(in: .min ... .max)
  }
}

extension ClientConfig.File {
  fileprivate init(_ config: tl_client_config, key: HostKey) throws(Failure) {
    let flags = unsafe config.flags
    let path = try unsafe config.path.text(
      "path", atMost: Limits.pathBytesMax, or: .invalid("path is over 1,024 bytes"))
    if has(flags, TL_OPEN_MEMORY) {
      guard path.isEmpty else { throw .invalid("path is not empty, and memory has none") }
      guard unsafe config.storage == nil else { throw .invalid("storage, and memory has none") }
      guard unsafe !has(flags, TL_OPEN_EXISTING | TL_OPEN_FRESH) && config.commit_seq == 0 else {
        throw .invalid("nothing exists in memory")
      }
      self = .memory
      return
    }
    guard !path.isEmpty, !path.contains(0) else { throw .invalid("path is empty or has a NUL") }
    self = .path(
      String(decoding: path, as: UTF8.self), key: key, create: !has(flags, TL_OPEN_EXISTING),
      strict: has(flags, TL_OPEN_STRICT))
  }
}

extension Profile {
  fileprivate init(_ profile: tl_profile) throws(Failure) {
    self.init()
    let known =
      TL_PROFILE_PAGE_SIZE_VARIES
      | TL_PROFILE_ABSENCE_IS_DELETION | TL_PROFILE_PUSH_LOSSLESS | TL_PROFILE_COUNTS_HIDDEN
      | TL_PROFILE_UNKNOWN_FRAMES | TL_PROFILE_DELETIONS_LATER | TL_PROFILE_ORDER_NOT_TIME
      | TL_PROFILE_OTHERS_EDIT
    guard unsafe profile.flags & ~UInt32(known) == 0 else {
      throw .invalid("flags of the profile has an unknown one")
    }
    let servers =
      TL_SERVER_BEFORE | TL_SERVER_AROUND | TL_SERVER_CHANGED_SINCE
      | TL_SERVER_IDEMPOTENT_SEND | TL_SERVER_SEQUENCE | TL_SERVER_ENVELOPE | logServers
    guard unsafe profile.capabilities & ~UInt32(servers) == 0 else {
      throw .invalid("capabilities has an unknown one")
    }
    capabilities = unsafe Capabilities(
      rawValue: profile.capabilities & ~UInt32(truncatingIfNeeded: logServers))
    try unsafe declareLog(profile)
    let isOrdered = unsafe !has(profile.flags, TL_PROFILE_ORDER_NOT_TIME)
    guard isOrdered || log != nil || capabilities.contains(.sequence) else {
      throw .unsupported("a server whose order is not that of times needs numbers, or a log")
    }
    pushIsLossless = unsafe has(profile.flags, TL_PROFILE_PUSH_LOSSLESS)
    othersEdit = unsafe has(profile.flags, TL_PROFILE_OTHERS_EDIT)
    tellsUnknownFrames = unsafe has(profile.flags, TL_PROFILE_UNKNOWN_FRAMES)
    refDays = try unsafe count(profile.ref_days, zero: 30, atMost: 3_650, "ref_days is over 3,650")
    refsMax = try unsafe count(
      profile.refs_max, zero: 100_000, atMost: 10_000_000, "refs_max is over 10,000,000")
    pagesMax = try unsafe count(
      profile.pages_max, zero: Limits.pagesMax, atMost: 1_000_000, "pages_max is over 1,000,000")
    pageLimit = try unsafe count(
      profile.page_limit, zero: 50, atMost: Limits.pageLimitMax, "page_limit is over 1,000")
    truncates = try unsafe Truncates(profile.truncates)
    ties = try unsafe Ties(profile.ties)
    pageSizeVaries = unsafe has(profile.flags, TL_PROFILE_PAGE_SIZE_VARIES)
    absenceIsDeletion = unsafe has(profile.flags, TL_PROFILE_ABSENCE_IS_DELETION)
    deletionsAreLater = unsafe has(profile.flags, TL_PROFILE_DELETIONS_LATER)
    // What pages show is counted, and that is more than what is there.
    countsHidden = unsafe deletionsAreLater || has(profile.flags, TL_PROFILE_COUNTS_HIDDEN)
    guard unsafe (0...86_400_000_000).contains(profile.time_resolution_us) else {
      throw .invalid("time_resolution_us is not between 0 and a day")
    }
    timeResolutionUs = unsafe profile.time_resolution_us
    if unsafe profile.overlap_ms != 0 { overlapUs = unsafe Int64(profile.overlap_ms) * 1_000 }
    deletionHorizonUs = unsafe Int64(profile.deletion_horizon_s) * 1_000_000
    guard unsafe (-1_439...1_439).contains(profile.zone_offset_min) else {
      throw .invalid("zone_offset_min is a day or more")
    }
    zoneOffsetMinutes = unsafe Int(profile.zone_offset_min)
    let members = try unsafe profile.search_members.text(
      "search_members", atMost: Limits.searchMembersMax,
      or: .invalid("search_members is over 1,024 bytes"))
    if !members.isEmpty { searchMembers = members }
    try unsafe declareIdempotency(profile)
  }
}

private let logServers = TL_SERVER_LOG | TL_SERVER_LOG_REFUSES | TL_SERVER_LOG_EPOCH

extension Profile {
  private mutating func declareIdempotency(_ profile: tl_profile) throws(Failure) {
    switch unsafe Int(profile.idempotency_scope) {
    case TL_IDEMPOTENCY_ACCOUNT: idempotencyScope = .account
    case TL_IDEMPOTENCY_DEVICE: idempotencyScope = .device
    case TL_IDEMPOTENCY_CONNECTION: idempotencyScope = .connection
    default: throw .invalid("idempotency_scope is not a known value")
    }
    idempotencyUs = unsafe Int64(profile.idempotency_s) * 1_000_000
    let isPlain = idempotencyScope == .account && idempotencyUs == 0
    guard isPlain || capabilities.contains(.idempotentSend) else {
      throw .invalid("idempotency needs TL_SERVER_IDEMPOTENT_SEND")
    }
  }

  /// Takes what is declared of a server that keeps logs. What speaks of the pages, counts and order
  /// of the other schemes is refused then: whoever declares it means another server.
  private mutating func declareLog(_ profile: tl_profile) throws(Failure) {
    let capabilities = unsafe profile.capabilities
    guard has(capabilities, TL_SERVER_LOG) else {
      guard !has(capabilities, logServers) else {
        throw .invalid("what is declared of a log needs TL_SERVER_LOG")
      }
      return
    }
    guard !has(capabilities, TL_SERVER_SEQUENCE) else {
      throw .invalid("positions are numbers or places in a log, not both")
    }
    guard !has(capabilities, TL_SERVER_BEFORE | TL_SERVER_AROUND | TL_SERVER_CHANGED_SINCE) else {
      throw .invalid("a log has no pages of get_messages, nor get_changed_since")
    }
    let counted =
      TL_PROFILE_ABSENCE_IS_DELETION | TL_PROFILE_COUNTS_HIDDEN | TL_PROFILE_DELETIONS_LATER
    guard unsafe !has(profile.flags, counted) else {
      throw .invalid("a log tells deletions by its entries and has no count")
    }
    guard unsafe profile.truncates == TL_TRUNCATES_UNKNOWN, unsafe profile.ties == TL_TIES_UNKNOWN
    else { throw .invalid("a log is ordered by itself, without truncates and ties") }
    guard !has(capabilities, TL_SERVER_ENVELOPE) else {
      throw .unsupported("entries of a log come in no envelope")
    }
    keepsLog(
      refusesUnknown: has(capabilities, TL_SERVER_LOG_REFUSES),
      namesEpoch: has(capabilities, TL_SERVER_LOG_EPOCH))
  }
}

extension Profile.Truncates {
  fileprivate init(_ value: tl_truncates) throws(Failure) {
    switch Int(value) {
    case TL_TRUNCATES_UNKNOWN: self = .unknown
    case TL_TRUNCATES_OLDEST: self = .oldest
    case TL_TRUNCATES_NEWEST: self = .newest
    default: throw .invalid("truncates is not a known value")
    }
  }
}

extension Profile.Ties {
  fileprivate init(_ value: tl_ties) throws(Failure) {
    switch Int(value) {
    case TL_TIES_UNKNOWN: self = .unknown
    case TL_TIES_ID: self = .id
    case TL_TIES_ARRIVAL: self = .arrival
    default: throw .invalid("ties is not a known value")
    }
  }
}
