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
    guard let vault, var index = changes.index else { return }
    let erases = changes.erases && index.hasDead
    if changes.units.isEmpty, !erases { return }
    let opening = writer.counters.opening
    index.past.take(opening)
    writer.own = index
    // What the file lacks is nowhere else.
    let isNeeded = writer.lost != nil
    if !isNeeded, erases || index.isWasteful || !vault.hasOwn {
      rewriteOwn(connection, &writer)
      return
    }
    if !vault.hasOwn { return }
    var record = OwnRecord.commit(writer.counters.lsn, of: [opening])
    for (key, change) in changes.units { OwnRecord.append(key, change, to: &record) }
    do throws(VaultFailure) { try vault.appendOwn(record) } catch {
      // It is closed now, so the next change makes it anew.
    }
  }

  /// Makes it anew from the main file. After a failure the old one stays and nothing is appended to
  /// it, since it would miss a change; the next change tries again.
  @discardableResult
  func rewriteOwn(_ connection: Connection, _ writer: inout Writer) -> Bool {
    do throws(StoreFailure) {
      let past = writer.own?.past ?? OwnPast()
      guard let index = try makeOwn(connection, writer.counters, past) else { return false }
      writer.own = index
      return true
    } catch {
      vault?.leaveOwn()
      return false
    }
  }

  private func makeOwn(
    _ connection: Connection, _ counters: Counters, _ past: OwnPast
  ) throws(StoreFailure) -> OwnIndex? {
    guard let vault else { return nil }
    // A record says why a unit is gone and this does not, so the commit must not be lost.
    try Self.named { () throws(VaultFailure) in try vault.syncLog() }
    var index = OwnIndex(contentDigest, past: past)
    index.past.take(counters.own.opening)
    let file = try Self.named { () throws(VaultFailure) in try vault.beginOwn() }
    func put(_ key: OwnKey, _ unit: [UInt8]) throws(StoreFailure) {
      var record: [UInt8] = []
      OwnRecord.append(key, .put(unit), to: &record)
      try Self.named { () throws(VaultFailure) in try file.put(record) }
    }
    try put(OwnKey(kind: .binding, id: 0), OwnUnit.binding(binding))
    // A file that is cut names no opening, so it adds what it has and removes nothing.
    let begun = OwnRecord.commit(counters.lsn, of: [])
    try Self.named { () throws(VaultFailure) in try file.put(begun) }
    try eachOwn(connection, counters) { key, unit throws(StoreFailure) in
      _ = index.take(key, .put(unit))
      try put(key, unit)
    }
    let commit = OwnRecord.commit(counters.lsn, of: index.past.openings)
    try Self.named { () throws(VaultFailure) in try file.put(commit) }
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

  // MARK: At the opening

  /// Reads what lies beside the file that was opened, and compares the two. Nothing is changed.
  func readOwn(_ key: HostKey) {
    guard let vault else { return }
    var (contents, kept) = (OwnContents(), OwnIndex(contentDigest))
    var found = OwnFound.foreign
    do throws(VaultFailure) {
      found = try vault.readOwn(key) { record in
        contents.take(record: record)
        kept.take(record: record)
      }
    } catch {
      // What was read of it before counts.
    }
    let isOwn = contents.isOf(binding)
    writer.withLock { writer in
      var read = OwnRead(found: found, kept: kept)
      if let connection = writer.connection {
        read.main = mainIndex(connection, writer.counters)
      }
      writer.read = read
      guard isOwn, contents.commit > 0 else { return }
      writer.floor = contents.floor
      let isSame = read.main.map { kept.isSame(as: $0) } ?? false
      let isAsNew = contents.isAsNew(as: writer.counters.own)
      writer.read?.isSame = isSame && isAsNew
      let isAhead =
        contents.isFork || contents.commit > writer.counters.lsn || writer.counters.lsn == 0
      if isSame || !isAsNew && !isAhead { return }
      isBehind.withLock { $0 = true }
      writer.lost = OwnLoss(
        contents: contents, older: isAsNew ? writer.counters.lsn : nil,
        kept: found == .current ? kept : nil)
    }
  }

  /// What the main file has; nil where a page is damaged.
  private func mainIndex(_ connection: Connection, _ counters: Counters) -> OwnIndex? {
    var main = OwnIndex(contentDigest)
    do throws(StoreFailure) {
      try eachOwn(connection, counters) { key, unit in _ = main.take(key, .put(unit)) }
    } catch {
      return nil
    }
    return main
  }

  /// The file is accepted. Where nothing is to be put back what lies beside it is made as the main
  /// file is. One that nothing opens stays until there is something to keep.
  func settleOwn() {
    guard let vault else { return }
    writer.withLock { writer in
      let read = writer.read
      writer.read = nil
      if writer.lost != nil { return }
      guard let connection = writer.connection, let read, let main = read.main else {
        // What could not be compared stays as it is.
        return vault.leaveOwn()
      }
      // An erasure may have been killed that was to reach what is dead in it.
      if read.found == .current, read.isSame, !main.isEmpty, !read.kept.hasDead {
        writer.own = read.kept
        return
      }
      writer.own = main
      if read.isSame { writer.own?.past = read.kept.past }
      if !main.isEmpty, rewriteOwn(connection, &writer) { return }
      guard read.found == .former || main.isEmpty && read.found.isOfFile else { return }
      do throws(VaultFailure) {
        try vault.syncLog()
        try vault.removeOwn()
      } catch {
        // The next opening tries again.
      }
    }
  }

  /// Puts back what the file lacks, for who runs nothing beside it. Where a page is in the way the
  /// file is healed. On a full disk the next commit does it.
  func putBackOwn() {
    if !lacksOwnWork { return }
    do throws(StoreFailure) { try write { _ in } } catch {
      guard error == .damaged else { return }
      do throws(StoreFailure) { _ = try heal() } catch {
        // It stays beside the file, and new work goes behind it.
      }
    }
  }

  /// Puts back what the file lacks, before all else of a commit.
  func putBack(
    _ loss: OwnLoss, _ tx: WriteTransaction
  ) throws(StoreFailure) {
    tx.own.putBack = try tx.ownTable.putBack(loss.contents, of: binding, older: loss.older)
    tx.own.isPutBack = true
  }

  /// The file cannot take what it lacks, and no commit would succeed. That stays beside it, and new
  /// work goes behind it.
  func blockOwn(_ writer: inout Writer) {
    guard let loss = writer.lost, !loss.isBlocked else { return }
    writer.lost?.isBlocked = true
    writer.own = loss.kept
    guard let vault, writer.own != nil else {
      self.vault?.leaveOwn()
      return
    }
    if loss.older != nil { return }
    do throws(VaultFailure) { try vault.appendOwn(OwnRecord.fork) } catch {
      writer.own = nil
    }
  }

  /// What the file lacked is committed.
  func endLoss(_ loss: OwnLoss, _ connection: Connection, _ writer: inout Writer) {
    writer.lost = nil
    let past = loss.older == nil ? OwnPast() : loss.contents.past
    writer.own = OwnIndex(contentDigest, past: past)
    rewriteOwn(connection, &writer)
  }

  /// Compares a slice of own work with what was kept twice. What lies beside the file and could not
  /// be put back is told at the opening.
  func step(_ walk: OwnWalk, of check: inout RowCheck) throws(StoreFailure) -> Bool {
    let (differing, next) = try writer.withLock {
      (writer) throws(StoreFailure) -> (UInt64, OwnWalk?) in
      let connection = try awake(&writer)
      guard let own = writer.own, writer.lost == nil, vault?.hasOwn ?? false else {
        return (0, nil)
      }
      return try snapshot(connection, counters: writer.counters, failure: Self.asItIs) {
        rx throws(StoreFailure) in
        try walk.step(rx, own, newest: writer.counters.lastOperation)
      }
    }
    return check.took(next, differing: differing)
  }

  /// The file ends, and where it has no own work, what lies beside it does.
  func endOwn() {
    let isEmpty = writer.withLock { $0.lost == nil && $0.own?.isEmpty ?? false }
    if let vault, isEmpty, vault.hasOwn { vault.endOwn() }
  }
}

// MARK: - Damage

extension MessageStore {
  /// Reads all sound pages into a new file, and writes that over this one in one transaction. Where
  /// a row was lost there is a gap, and whoever follows the feed reads anew. Nil: it was not looked
  /// for what contradicts something.
  package func heal(_ known: Contradictions? = nil) throws(StoreFailure) -> Salvaged {
    guard let vault else { throw .damaged }
    return try gate.enter { () throws(StoreFailure) in
      try writer.withLock { (writer) throws(StoreFailure) in
        let connection = try awake(&writer)
        connection.rollBack()
        let found: Salvaged
        (found, writer.counters) = try Salvage.heal(
          vault, connection, binding: binding, floor: writer.counters,
          known: known, unread: writer.lost?.contents)
        writer.lost = nil
        writer.own = OwnIndex(contentDigest)
        rewriteOwn(connection, &writer)
        indexed.withLock { $0 = connection.memo.indexChanges }
        return found
      }
    }
  }
}

// MARK: - Into a file that lacks it

extension MessageStore {
  /// Puts back what a new file lacks, in a commit of its own; gives the operations.
  static func putBack(
    _ own: OwnContents, older: UInt64?, into connection: Connection, _ counters: Counters,
    _ binding: Schema.Binding
  ) throws(StoreFailure) -> [UInt64] {
    let tx = WriteTransaction(
      connection, counters: counters, rules: StoreRules(user: binding.user),
      positionKind: binding.positionKind, digest: ContentDigest(vault: nil))
    try tx.begin()
    do throws(StoreFailure) {
      let done = try tx.ownTable.putBack(own, of: binding, older: older)
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

/// What an opening has found beside the file.
struct OwnRead: Sendable {
  let found: OwnFound
  let kept: OwnIndex
  /// What the main file has; nil where that could not be read.
  var main: OwnIndex?
  /// Both have the same, and the same past.
  var isSame = false
}

/// What lies beside the file and the file lacks.
struct OwnLoss: Sendable {
  let contents: OwnContents
  /// The last commit of the file, which is older; nil where it has gone on by itself.
  let older: UInt64?
  /// What records can go behind; nil where none can.
  let kept: OwnIndex?
  /// A page of the file is damaged, so that it cannot be put back.
  var isBlocked = false
}

extension OwnFound {
  /// It is of this file, whatever has become of it.
  fileprivate var isOfFile: Bool { self == .part || self == .current || self == .former }
}
