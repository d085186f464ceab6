/// Which lines the host's log gets, and when: inside a call, once no lock is held.
internal import Base
internal import Store

extension Client {
  /// Hands lines to the host; never while a lock is held.
  func log(_ lines: LogLines) {
    guard let log = config.log, !lines.isEmpty else { return }
    let nowMs = now().monotonicMs
    for line in lines.all {
      guard let text = logBound.withLock({ $0.admit(line, nowMs: nowMs) }) else { continue }
      log(line.kind.level, text)
    }
  }

  /// Tells the log why a call of the host's was refused, where that is a defect or a trouble.
  package func note(_ failure: Failure) {
    var lines = LogLines()
    let (reason, code) = failure.reason
    switch failure {
    case .invalid, .tooNew, .unsupported:
      lines.append(.warn, "a call was refused", because: reason)
    case .storage, .linked, .moved, .inTheWay, .noDescriptor, .host, .full, .damaged, .lost,
      .internal:
      lines.append(.error, "a call failed", code.map { Int64(clamping: $0) }, because: reason)
    case .closed, .released, .key, .noSlot, .code, .locked, .notOurs, .frame, .tooLarge, .notFound,
      .mismatch, .offline, .timeout, .refused, .unavailable, .cancelled, .incomplete, .cut:
      return
    }
    log(lines)
  }

  func logOpening() {
    var lines = LogLines()
    if case .memory = config.file {
      lines.append(.info, "opened in memory")
    } else if store.isMade {
      lines.append(.info, "opened a new file")
    } else {
      lines.append(.info, "opened a file that was there")
    }
    lines.append(.info, "schema version", store.schemaVersion)
    lines.append(
      .info, "capabilities of the server, as bits",
      Int64(clamping: config.profile.capabilities.rawValue))
    log(lines)
  }
}
