/// One opening of a name on a storage of the host's: the lease, and what its files share.
///
/// Rule protected: after the lease is lost or a sync has failed, the host's functions are not
/// called any more, but for the release; so nothing is written that a successor could see, and
/// nothing later is believed. Locks and the log's index are of this process alone and lie here.
internal import Base
internal import CSQLite
internal import Support
internal import Synchronization

typealias StoredFile = UnsafeMutablePointer<tideline_stored_file>

/// What became of a session.
enum StorageFate: UInt8, AtomicRepresentable {
  case good
  /// Another holder has acquired the name.
  case lost
  /// A sync failed.
  case broken
}

// The storage may be called from any thread, and everything else is atomic or behind a lock.
@safe final class StorageSession: @unchecked Sendable {
  let lease: StorageLease
  private let storage: any HostStorage
  private let state = Atomic<StorageFate>(.good)
  private let isEnded = Atomic<Bool>(false)
  /// One call at a time that changes something.
  private let changing = Lock(0)
  /// What was read ahead of the log; nil once it was changed.
  private let ahead = Lock<ReadAhead?>(ReadAhead())
  /// Of the main object, and of the other one.
  private let locks = (main: Lock(StorageLocks()), next: Lock(StorageLocks()))
  private let isNext = Atomic<Bool>(false)

  /// Takes the name over.
  init(_ storage: any HostStorage, name: [UInt8]) throws(VaultFailure) {
    var fence: UInt64 = 0
    switch storage.acquire(name, &fence) {
    case .done: break
    case .full: throw .full
    case .lost: throw .locked
    case .failed: throw .io(SQLITE_CANTOPEN)
    }
    self.storage = storage
    lease = StorageLease(name: name, fence: fence)
  }

  /// Gives the name back; a second call does nothing. Nothing is asked of the host afterwards.
  func end() {
    if isEnded.exchange(true, ordering: .acquiringAndReleasing) { return }
    if state.load(ordering: .acquiring) != .lost { storage.release(lease) }
  }

  /// Why nothing more is done, as the host is told; nil while all is well.
  var failure: VaultFailure? {
    switch state.load(ordering: .acquiring) {
    case .good: nil
    case .lost: .locked
    case .broken: .io(Code.syncFailed)
    }
  }

  /// Bytes of the file, its log and what is kept twice, as far as it can be asked.
  var bytes: UInt64 {
    var all: UInt64 = 0
    for object in [file, .log, .own] {
      var size: Int64 = 0
      if self.size(object, &size) == SQLITE_OK { all &+= UInt64(size) }
    }
    return all
  }

  /// The object that is the file.
  var file: StorageObject {
    get { isNext.load(ordering: .acquiring) ? .next : .main }
    set { isNext.store(newValue == .next, ordering: .releasing) }
  }

  /// The one in which the file gets its next data key.
  var other: StorageObject { file == .next ? .main : .next }

  // MARK: What a file asks for

  func withLocks<Result>(
    of object: StorageObject, _ body: (inout StorageLocks) -> Result
  ) -> Result {
    object == .next ? locks.next.withLock(body) : locks.main.withLock(body)
  }

  /// SQLite's short read where the object ends before; the rest is zeros then.
  func read(
    _ object: StorageObject, _ out: UnsafeMutableRawPointer, _ count: Int, at offset: UInt64
  ) -> Int32 {
    if object == .log, let result = unsafe readAhead(out, count, at: offset) { return result }
    return unsafe readNow(object, out, count, at: offset)
  }

  /// A log is read frame by frame when it is opened, and each call may go to another machine. So
  /// many frames are read at once, until this holder, the only one there is, changes the log.
  private func readAhead(
    _ out: UnsafeMutableRawPointer, _ count: Int, at offset: UInt64
  ) -> Int32? {
    let isWanted = ahead.withLock { $0?.isNext(count, at: offset) ?? false }
    if isWanted {
      var bytes = [UInt8](repeating: 0, count: ReadAhead.bytesMax)
      var got = 0
      let result = unsafe bytes.withUnsafeMutableBytes { room in
        ask(Code.readFailed) {
          unsafe storage.read(lease, .log, at: offset, into: room, &got)
        }
      }
      guard result == SQLITE_OK else { return result }
      ahead.withLock { $0?.keep(bytes, got, at: offset) }
    }
    return ahead.withLock { unsafe $0?.give(out, count, at: offset) ?? false } ? SQLITE_OK : nil
  }

  private func readNow(
    _ object: StorageObject, _ out: UnsafeMutableRawPointer, _ count: Int, at offset: UInt64
  ) -> Int32 {
    var got = 0
    let result = ask(Code.readFailed) {
      unsafe storage.read(
        lease, object, at: offset,
        into: UnsafeMutableRawBufferPointer(start: out, count: count), &got)
    }
    guard result == SQLITE_OK else { return result }
    guard got >= 0, got <= count else { return Code.readFailed }
    if got == count { return SQLITE_OK }
    unsafe (out + got).initializeMemory(as: UInt8.self, repeating: 0, count: count - got)
    return Code.shortRead
  }

  func size(_ object: StorageObject, _ out: inout Int64) -> Int32 {
    var size: UInt64 = 0
    let result = ask(Code.readFailed) { storage.size(lease, object, &size) }
    guard result == SQLITE_OK else { return result }
    guard let known = Int64(exactly: size) else { return Code.readFailed }
    out = known
    return SQLITE_OK
  }

  func write(
    _ object: StorageObject, _ from: UnsafeRawPointer, _ count: Int, at offset: UInt64
  ) -> Int32 {
    change(object, Code.writeFailed) {
      unsafe storage.write(
        lease, object, at: offset, UnsafeRawBufferPointer(start: from, count: count))
    }
  }

  func truncate(_ object: StorageObject, to size: UInt64) -> Int32 {
    change(object, Code.truncateFailed) { storage.truncate(lease, object, to: size) }
  }

  func remove(_ object: StorageObject) -> Int32 {
    change(object, Code.deleteFailed) { storage.remove(lease, object) }
  }

  func sync(_ object: StorageObject) -> Int32 {
    let result = change(object, Code.syncFailed) { storage.sync(lease, object) }
    if result == SQLITE_OK || result == Code.lost { return result }
    // Nothing fails because own work cannot be kept twice.
    if object == .own { return Code.syncFailed }
    _ = state.compareExchange(
      expected: .good, desired: .broken, ordering: .acquiringAndReleasing)
    return Code.syncFailed
  }

  private func change(
    _ object: StorageObject, _ failed: Int32, _ call: () -> StorageAnswer
  ) -> Int32 {
    if object == .log { ahead.withLock { $0 = nil } }
    return changing.withLock { (calls: inout Int) in
      calls &+= 1
      return ask(failed, call)
    }
  }

  private func ask(_ failed: Int32, _ call: () -> StorageAnswer) -> Int32 {
    switch state.load(ordering: .acquiring) {
    case .good: break
    case .lost: return Code.lost
    case .broken: return Code.syncFailed
    }
    if isEnded.load(ordering: .acquiring) { return failed }
    switch call() {
    case .done: return SQLITE_OK
    case .full: return SQLITE_FULL
    case .failed: return failed
    case .lost:
      state.store(.lost, ordering: .releasing)
      return Code.lost
    }
  }
}

/// A part of the log that was read before it was asked for.
private struct ReadAhead {
  static let bytesMax = FileFormat.batchBytes

  private var bytes: [UInt8] = []
  private var start: UInt64 = 0
  /// Where the last read has ended.
  private var end: UInt64 = 0

  /// Whether more is to be read now: what is asked for follows what was, and is not here.
  mutating func isNext(_ count: Int, at offset: UInt64) -> Bool {
    defer { end = offset &+ UInt64(count) }
    return offset == end && count < Self.bytesMax && !holds(count, at: offset)
  }

  mutating func keep(_ bytes: [UInt8], _ count: Int, at offset: UInt64) {
    self.bytes = Array(bytes.prefix(max(0, count)))
    start = offset
  }

  /// False where not all of it is here.
  func give(_ out: UnsafeMutableRawPointer, _ count: Int, at offset: UInt64) -> Bool {
    guard holds(count, at: offset) else { return false }
    let first = Int(offset &- start)
    unsafe bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      unsafe out.copyMemory(from: base + first, byteCount: count)
    }
    return true
  }

  private func holds(_ count: Int, at offset: UInt64) -> Bool {
    offset >= start && offset &- start <= UInt64(bytes.count)
      && UInt64(count) <= UInt64(bytes.count) &- (offset &- start)
  }
}
