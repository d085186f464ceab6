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
    if erases || index.isWasteful || !vault.hasOwn { return rewriteOwn(connection, &writer) }
    do throws(VaultFailure) { try vault.appendOwn(record) } catch {
      // It is closed now, so the next change makes it anew.
    }
  }

  /// Makes it anew from what the main file says.
  func rewriteOwn(_ connection: Connection, _ writer: inout Writer) {
    do throws(StoreFailure) {
      if let index = try makeOwn(connection, writer.counters) { writer.own = index }
    } catch {
      // What is there stays. Nothing is appended to it, so the next change tries again.
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

  /// Compares it with the main file, which was opened and is sound: of two that differ the main
  /// file is right. One that nothing opens stays until there is something to keep.
  func checkOwn() {
    guard let vault else { return }
    writer.withLock { writer in
      guard let connection = writer.connection else { return }
      var (kept, main) = (OwnIndex(contentDigest), OwnIndex(contentDigest))
      var found = OwnFound.foreign
      do throws(VaultFailure) { found = try vault.readOwn { kept.take(record: $0) } } catch {
        kept = OwnIndex(contentDigest)
      }
      do throws(StoreFailure) {
        try eachOwn(connection, writer.counters) { key, unit in _ = main.take(key, unit) }
      } catch {
        // A page of it is damaged: what was kept is needed yet.
        if found == .current { writer.own = kept }
        return
      }
      writer.own = kept
      if found == .current, !main.isEmpty, kept.isSame(as: main) { return }
      if !main.isEmpty { return rewriteOwn(connection, &writer) }
      if found == .current || found == .part { vault.endOwn() }
      writer.own = main
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
  /// Puts back what the file lacks, in a commit of its own; nil where there is nothing.
  static func putBack(
    _ own: OwnContents, into connection: Connection, _ counters: Counters, _ rules: StoreRules,
    _ binding: Schema.Binding, digest: ContentDigest
  ) throws(StoreFailure) -> (counters: Counters, operations: [UInt64])? {
    let operations = own.units(.operation, of: binding)
    let drafts = own.units(.draft, of: binding)
    if operations.isEmpty, drafts.isEmpty { return nil }
    let tx = WriteTransaction(
      connection, counters: counters, rules: rules, positionKind: binding.positionKind,
      digest: digest)
    try tx.begin()
    do throws(StoreFailure) {
      let done = try tx.ownTable.putBack(operations, drafts: drafts)
      return (try tx.commit(), done)
    } catch {
      tx.abandon()
      throw error
    }
  }

  /// The same for a file that was opened and may lack something: it was made just now, is a copy,
  /// or the end of its log was lost.
  static func putBack(
    beside vault: Vault, _ key: HostKey, into connection: Connection, _ counters: Counters,
    _ config: StoreConfig
  ) throws(StoreFailure) -> Counters {
    guard counters.lsn == 0 || vault.isCopied || vault.rejectedFrames > 0 else { return counters }
    var own = OwnContents()
    do throws(VaultFailure) { _ = try vault.readOwn(key) { own.take(record: $0) } } catch {
      // What was read of it before counts.
    }
    return try putBack(
      own, into: connection, counters, StoreRules(config), Schema.Binding(config),
      digest: ContentDigest(vault: vault))?.counters ?? counters
  }
}

extension MessageStore {
  /// The file has another data key: what was kept under the former one is destroyed.
  func rotateOwn(of vault: Vault, _ connection: Connection, _ writer: inout Writer) {
    do throws(VaultFailure) { try vault.removeOwn() } catch {
      // Making it anew destroys the key slots of the former one, too.
    }
    if !(writer.own?.isEmpty ?? true) { rewriteOwn(connection, &writer) }
  }
}
