/// Copies of the file, and a new data key for it: what is done in slices beside reads and writes.
internal import Base
internal import CSQLite
package import Vault

extension MessageStore {
  /// Begins a copy of the file as it is now; nil in memory. The caller ends it.
  package func copy(to path: String) throws(StoreFailure) -> VaultCopy? {
    guard let vault else { return nil }
    return try gate.enter { () throws(StoreFailure) in
      guard !readers.withLock({ $0.isClosed }) else { throw ended }
      try wake()
      do throws(VaultFailure) {
        let copy = try vault.copy(to: path)
        copies.withLock { $0.append(copy) }
        return copy
      } catch {
        throw StoreFailure(error)
      }
    }
  }

  /// True when the copy is whole and has its name.
  package func step(_ copy: VaultCopy) throws(StoreFailure) -> Bool {
    try gate.enter { () throws(StoreFailure) in
      guard !readers.withLock({ $0.isClosed }) else { throw ended }
      do throws(VaultFailure) { return try copy.step() } catch { throw StoreFailure(error) }
    }
  }

  package func end(_ copy: VaultCopy) {
    copies.withLock { $0.removeAll { $0 === copy } }
    copy.end()
  }

  /// Whether the file is a copy that no client has opened yet.
  package var isCopied: Bool { vault?.isCopied ?? false }

  /// What waits in the file may have been sent since: it is a copy, or commits were lost.
  package var lacksEnds: Bool {
    isCopied || isLogLost || isOlder || isBehind.withLock { $0 }
  }

  /// All that a copy needs is written: it is an original from now on.
  package func endCopied() {
    guard let vault, vault.isCopied else { return }
    do throws(VaultFailure) {
      try vault.syncLog()
      try vault.endCopied()
    } catch {
      // The next opening does it again.
    }
  }
}

// MARK: - A new data key

extension MessageStore {
  /// Whether the file can get a new data key: not in memory. A failure says what is in the way.
  package func canRotate() throws(StoreFailure) -> Bool {
    guard let vault else { return false }
    do throws(VaultFailure) { try vault.checkRotation() } catch { throw StoreFailure(error) }
    return true
  }

  /// Begins to give the file a new data key; false in memory. There is one at a time. What the file
  /// lacks is put back before.
  package func beginRotation() throws(StoreFailure) -> Bool {
    guard let vault else { return false }
    // What the file lacks is under the data key that goes.
    if lacksOwnWork { throw .damaged }
    try gate.enter { () throws(StoreFailure) in
      try writer.withLock { (writer) throws(StoreFailure) in
        let connection = try awake(&writer)
        guard writer.rotation == nil else { throw .vault(.locked) }
        writer.rotation = try connection.rotation(of: vault)
      }
    }
    return true
  }

  /// Does a little of it; true when the file has its new key. Copies under way end then: what they
  /// would show is what the new key is to forget.
  package func stepRotation() throws(StoreFailure) -> Bool {
    let isReady = try gate.enter { () throws(StoreFailure) in
      try writer.withLock { (writer) throws(StoreFailure) in
        guard writer.connection != nil else { throw ended }
        guard let rotation = writer.rotation else { throw .vault(.io(SQLITE_ABORT)) }
        do throws(VaultFailure) { return try rotation.step() } catch {
          rotation.end()
          writer.rotation = nil
          throw StoreFailure(error)
        }
      }
    }
    guard isReady, let vault else { return false }
    return try gate.drain { () throws(StoreFailure) in
      closeReaders()
      for copy in copies.withLock({ $0 }) { copy.end() }
      return try writer.withLock { (writer) throws(StoreFailure) in
        guard writer.connection != nil, let rotation = writer.rotation else { throw ended }
        writer.rotation = nil
        try finish(rotation, of: vault, &writer)
        return true
      }
    }
  }

  private func finish(
    _ rotation: VaultRotation, of vault: Vault, _ writer: inout Writer
  ) throws(StoreFailure) {
    var failure: VaultFailure?
    // A read that was kept open would keep the log from being written back.
    writer.connection?.rollBack()
    do throws(VaultFailure) {
      switch try rotation.finish({
        writer.connection?.close()
        writer.connection = nil
      }) {
      case .replaced(let left): failure = left
      case .unknown(let why): throw why
      }
    } catch {
      failure = error
    }
    if writer.connection == nil {
      do throws(StoreFailure) {
        let connection = try Self.connect(vault, role: .writer)
        connection.members = members
        connection.indexesLater = indexesLater
        connection.memo.indexChanges = indexed.withLock { $0 }
        // Nothing was written meanwhile, so what is counted holds.
        _ = try Self.prepare(connection, binding: binding, cacheBytes: readerCacheBytes &* 2)
        writer.connection = connection
        let left = rotateOwn(of: vault, connection, &writer)
        failure = failure ?? left
      } catch {
        // The file is whole, and is to be opened again.
        readers.withLock { $0.isClosed = true }
        vault.close()
        throw failure.map { StoreFailure($0) } ?? error
      }
    }
    if let failure { throw StoreFailure(failure) }
  }

  /// Nothing is left of a rotation that has not come to its end.
  package func endRotation() {
    writer.withLock { writer in
      writer.rotation?.end()
      writer.rotation = nil
    }
  }

  /// How many bytes are copied, and of how many.
  package var rotationProgress: (done: UInt64, total: UInt64)? {
    writer.withLock { $0.rotation?.progress }
  }

  // MARK: A look at each page

  /// It has a file, and is no storage of the host's.
  package var isFile: Bool { vault?.isFile ?? false }

  /// A walk over the pages of the file; nil in memory.
  package func pageCheck() throws(StoreFailure) -> PageCheck? {
    guard let vault else { return nil }
    return try gate.enter { () throws(StoreFailure) in
      try wake()
      do throws(VaultFailure) { return try vault.pageCheck() } catch { throw StoreFailure(error) }
    }
  }

  /// Looks at a slice of the rows, beside writes; true when all were looked at.
  package func step(_ check: inout RowCheck) throws(StoreFailure) -> Bool {
    if let walk = check.walk { return try step(walk, of: &check) }
    return try readBeside(
      failure: { $0 }, { rx throws(StoreFailure) in try check.step(rx) })
  }

  /// Reads a slice; true when all pages were read.
  package func step(_ check: PageCheck) throws(StoreFailure) -> Bool {
    try gate.enter { () throws(StoreFailure) in
      try writer.withLock { (writer) throws(StoreFailure) in
        _ = try awake(&writer)
        do throws(VaultFailure) { return try check.step() } catch { throw StoreFailure(error) }
      }
    }
  }
}
