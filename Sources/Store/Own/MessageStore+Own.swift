/// Keeping own work twice: behind each commit that changes it, and beside each file that is opened.
///
/// Rule protected: the file of own work never makes a call fail, and says nothing that the main
/// file did not say first. What could not be written of it is made up for by the next change of own
/// work, or by the next opening.
internal import Base
internal import Vault

extension MessageStore {
  /// Writes what a commit has changed of own work: one record, in one write.
  @inline(never)
  func keepTwice(
    _ changes: OwnChanges, _ connection: Connection, _ writer: inout Writer
  ) {
    guard let vault, var index = writer.own else { return }
    var record: [UInt8] = []
    for (key, unit) in changes.units where index.take(key, unit) {
      OwnRecord.append(key, unit, to: &record)
    }
    let erases = changes.erases && index.hasDead
    if record.isEmpty, !erases { return }
    writer.own = index
    if erases || index.isWasteful || !vault.hasOwn {
      rewriteOwn(connection, &writer)
      return
    }
    var whole = OwnRecord.commit(writer.counters.lsn)
    whole.append(contentsOf: record)
    do throws(VaultFailure) { try vault.appendOwn(whole) } catch {
      // It is closed now, so the next change makes it anew.
    }
  }

  /// Makes it anew from what the main file says. Where that fails what is there stays; nothing is
  /// appended to it, so the next change tries again.
  @discardableResult
  func rewriteOwn(_ connection: Connection, _ writer: inout Writer) -> Bool {
    do throws(StoreFailure) {
      guard let index = try makeOwn(connection, writer.counters) else { return false }
      writer.own = index
      return true
    } catch {
      return false
    }
  }

  private func makeOwn(
    _ connection: Connection, _ counters: Counters
  ) throws(StoreFailure) -> OwnIndex? {
    guard let vault else { return nil }
    var index = OwnIndex(contentDigest)
    let file = try Self.named { () throws(VaultFailure) in try vault.beginOwn() }
    func put(_ key: OwnKey, _ unit: [UInt8]) throws(StoreFailure) {
      var record: [UInt8] = []
      OwnRecord.append(key, unit, to: &record)
      try Self.named { () throws(VaultFailure) in try file.put(record) }
    }
    try put(OwnKey(kind: .binding, id: 0), OwnUnit.binding(binding))
    try Self.named { () throws(VaultFailure) in try file.put(OwnRecord.commit(counters.lsn)) }
    try eachOwn(connection, counters) { key, unit throws(StoreFailure) in
      _ = index.take(key, unit)
      try put(key, unit)
    }
    try Self.named { () throws(VaultFailure) in try vault.finishOwn(file) }
    return index
  }

  private static func named<Result>(
    _ body: () throws(VaultFailure) -> Result
  ) throws(StoreFailure) -> Result {
    do throws(VaultFailure) { return try body() } catch { throw StoreFailure(error) }
  }

  private func eachOwn(
    _ connection: Connection, _ counters: Counters,
    _ body: (OwnKey, [UInt8]) throws(StoreFailure) -> Void
  ) throws(StoreFailure) {
    try snapshot(connection, counters: counters, failure: Self.asItIs) {
      rx throws(StoreFailure) in
      try OwnUnits(rx: rx).each(body)
    }
  }

  private static func asItIs(_ failure: StoreFailure) -> StoreFailure { failure }

  /// Reads what lies beside the file that was opened. Where that is newer than the last commit of
  /// the file, that has lost something, and it is put back; on a full disk the next commit does it.
  func readOwn(_ key: HostKey) {
    guard let vault else { return }
    let lsn = self.lsn
    var (lost, kept) = (OwnContents(), OwnIndex(contentDigest))
    var found = OwnFound.foreign
    do throws(VaultFailure) {
      found = try vault.readOwn(key) { record in
        lost.take(record: record)
        kept.take(record: record)
      }
    } catch {
      // What was read of it before counts.
    }
    let isOwn = lost.isOf(binding)
    writer.withLock { writer in
      writer.read = (found, kept)
      if isOwn, lost.commit > lsn || lsn == 0 { writer.lost = lost }
    }
    if !lacksOwnWork { return }
    do throws(StoreFailure) { try write { _ in } } catch {
      switch error {
      case .full, .vault(.io): break
      default:
        // A page is damaged: who heals the file reads all of it again.
        writer.withLock { ($0.lost, $0.read) = (nil, nil) }
      }
    }
  }

  /// Compares what was read with the main file, which is accepted and sound: of two that differ the
  /// main file is right. One that nothing opens stays until there is something to keep.
  func checkOwn() {
    guard let vault else { return }
    writer.withLock { writer in
      let read = writer.read
      writer.read = nil
      guard let connection = writer.connection, let (found, kept) = read, writer.lost == nil else {
        // It has what the file lacks, so it stays as it is.
        vault.leaveOwn()
        if writer.lost != nil { writer.own = OwnIndex(contentDigest) }
        return
      }
      var main = OwnIndex(contentDigest)
      do throws(StoreFailure) {
        try eachOwn(connection, writer.counters) { key, unit in _ = main.take(key, unit) }
      } catch {
        // A page of it is damaged: what was kept is needed yet.
        if found == .current { writer.own = kept }
        return
      }
      writer.own = kept
      // An erasure may have been killed that was to reach what is dead in it.
      if found == .current, !main.isEmpty, !kept.hasDead, kept.isSame(as: main) { return }
      if !main.isEmpty, rewriteOwn(connection, &writer) { return }
      if main.isEmpty { writer.own = main }
      guard found == .former || main.isEmpty && found.isOfFile else { return }
      do throws(VaultFailure) {
        try vault.syncLog()
        try vault.removeOwn()
      } catch {
        // The next opening tries again.
      }
    }
  }

  /// The file ends, and where it has no own work, what lies beside it does.
  func endOwn() {
    let isEmpty = writer.withLock { $0.own?.isEmpty ?? false }
    if let vault, isEmpty, vault.hasOwn { vault.endOwn() }
  }
}

// MARK: - Into a file that lacks it

extension MessageStore {
  /// Puts back what a new file lacks, in a commit of its own; gives the operations.
  static func putBack(
    _ own: OwnContents, into connection: Connection, _ counters: Counters, _ binding: Schema.Binding
  ) throws(StoreFailure) -> [UInt64] {
    let tx = WriteTransaction(
      connection, counters: counters, rules: StoreRules(user: binding.user),
      positionKind: binding.positionKind, digest: ContentDigest(vault: nil))
    try tx.begin()
    do throws(StoreFailure) {
      let done = try tx.ownTable.putBack(own, of: binding)
      _ = try tx.commit()
      return done
    } catch {
      tx.abandon()
      throw error
    }
  }

  /// The file has another data key: what was kept under the former one is destroyed. Gives why it
  /// is still there.
  func rotateOwn(
    of vault: Vault, _ connection: Connection, _ writer: inout Writer
  ) -> VaultFailure? {
    var left: VaultFailure?
    do throws(VaultFailure) { try vault.removeOwn() } catch { left = error }
    // Making it anew destroys the key slots of the former one, too.
    let isMade = !(writer.own?.isEmpty ?? true) && rewriteOwn(connection, &writer)
    return isMade ? nil : left
  }
}

extension OwnFound {
  /// It is of this file, whatever has become of it.
  fileprivate var isOfFile: Bool { self == .part || self == .current || self == .former }
}
