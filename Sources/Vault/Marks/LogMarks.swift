/// The mark of an open file, written as its log begins, grows, is copied and becomes spare.
///
/// Rule protected: a mark on disk says less than the disk has, whatever of the writes a crash
/// keeps. So it names a log once the header of that was synced, and a length once the frames were;
/// and the header of a log is written over only where a synced mark says that nobody needs it.
/// Decision 099 has each point of a crash.
internal import Base
internal import CSQLite
internal import Synchronization

final class LogMarks: Sendable {
  private struct State {
    var mark: LogMark
    /// It is on disk that the log is not needed.
    var isSettled: Bool
    /// Whether the mark of each copy opens.
    var isWhole: [Bool]
    let isMarked: Bool
    /// No mark opens, so the log is of any generation.
    let isOfAny: Bool
    /// Generation of the log in use; nil until its header was read or written.
    var log: UInt64?
    /// The header of the log is on disk.
    var isBegun = false
    /// Commits were lost before the opening.
    var isLost = false
    /// The file was accepted: until then it stays as it is.
    var isActive = false
  }

  /// What an opening has found missing.
  enum Verdict {
    case whole
    /// Commits are missing; what is there is an earlier state of the file.
    case lost
    /// The same, and the pages that are there are of no one state.
    case damaged
  }

  private let copies: HeaderCopies
  private let fileId: [UInt8]
  private let keys: KeyMemory
  /// On a storage of the host's each write may go to another machine, so the length is not kept.
  private let countsFrames: Bool
  private let state: Lock<State>
  /// Committed frames of the log in use. Only the writer changes it.
  let committed = Atomic<UInt64>(0)
  /// The mark names the log in use, as one that is needed: a commit has nothing to write.
  private let isNamed = Atomic<Bool>(false)

  init(_ copies: HeaderCopies, _ opened: HeaderFile.Opened, countsFrames: Bool) {
    self.copies = copies
    fileId = opened.header.fileId
    keys = opened.keys
    self.countsFrames = countsFrames
    let mark = opened.marks.newest ?? .initial
    let isWhole = opened.marks.marks.map { $0 != nil }
    state = Lock(
      State(
        mark: mark, isSettled: mark.state == .spare && !isWhole.contains(false), isWhole: isWhole,
        isMarked: opened.marks.isMarked, isOfAny: opened.marks.isDamaged))
  }

  // MARK: At the opening

  /// The generations of which the header of the log may be: it is opened as one of them. The next
  /// one where a power cut took the first mark of that log.
  private var generations: [UInt64] {
    state.withLock { state in
      if let log = state.log { return [log] }
      let last = state.mark.generation
      return state.mark.state == .spare ? [last &+ 1, last] : [last]
    }
  }

  /// That of the header that `opens` it; nil where it is of none of them.
  func generation(_ opens: (UInt64) -> Bool) -> UInt64? {
    if let found = generations.first(where: opens) { return found }
    guard state.withLock({ $0.isOfAny && $0.log == nil }) else { return nil }
    return (1...Self.generationsTried).first(where: opens)
  }

  /// As many logs a file has that was written over with 4 TB; to try them all takes a second.
  private static let generationsTried: UInt64 = 1 << 20

  /// How many frames have to open of the log of a generation before any of it is read: it is spare,
  /// so of a part of it the main file has newer pages.
  func framesNeeded(of generation: UInt64) -> UInt64 {
    state.withLock { state in
      let isSpare = state.mark.state == .spare && state.mark.generation == generation
      return state.log == nil && isSpare ? state.mark.copied : 0
    }
  }

  /// How many frames of the log, by default that in use, the main file has.
  func copied(of generation: UInt64?) -> Int64 {
    state.withLock { state in
      let asked = generation ?? state.log ?? state.mark.generation
      return asked == state.mark.generation ? Int64(clamping: state.mark.copied) : 0
    }
  }

  /// The header of the log has opened.
  func found(_ generation: UInt64) { state.withLock { $0.log = generation } }

  /// Compares the mark with the committed frames that SQLite has found in the log.
  func judge(_ frames: UInt64) -> Verdict {
    committed.store(frames, ordering: .releasing)
    return state.withLock { state in
      let mark = state.mark
      if mark.state == .spare {
        // The mark of the next log was being written, so that log was there.
        let hadNext = state.isMarked && state.isWhole.contains(false)
        state.isLost = hadNext && state.log != mark.generation &+ 1
        return state.isLost ? .lost : .whole
      }
      let isThere = state.log == mark.generation
      if isThere && frames >= mark.frames {
        isNamed.store(true, ordering: .releasing)
        return .whole
      }
      state.isLost = true
      // The next sync writes what is true from now on.
      if isThere { state.mark.frames = frames }
      let found = isThere ? frames : 0
      let isOneState = mark.state == .needed && (found == 0 || found >= mark.copied)
      return isOneState ? .lost : .damaged
    }
  }

  /// Commits were lost before the opening.
  var isLost: Bool { state.withLock { $0.isLost } }

  /// The log is gone: the main file has all of it. What lies beside the file next is judged anew.
  func rest() {
    state.withLock { $0.log = nil }
    isNamed.store(false, ordering: .releasing)
  }

  // MARK: While it is open

  /// The file was accepted.
  func activate() {
    state.withLock { state in
      state.isActive = true
      // A power cut took all frames of it. SQLite deletes such a log when it closes.
      let isEmpty = committed.load(ordering: .acquiring) == 0
      guard isEmpty, state.mark.state != .spare, !state.isLost else { return }
      do throws(VaultFailure) { try settle(&state) } catch {
        // Its next header tries again.
      }
    }
    if committed.load(ordering: .acquiring) > 0, !isNamed.load(ordering: .acquiring) { name() }
  }

  /// The header of a log is about to be written over the one that is there. Gives the generation to
  /// seal it with, or a failure.
  func begin() -> (generation: UInt64, result: Int32) {
    state.withLock { state in
      if !state.isSettled {
        do throws(VaultFailure) { try settle(&state) } catch { return (0, Self.code(error)) }
      }
      let next = state.mark.generation &+ 1
      state.log = next
      state.isBegun = false
      committed.store(0, ordering: .releasing)
      isNamed.store(false, ordering: .releasing)
      return (next, SQLITE_OK)
    }
  }

  /// SQLite begins a log only where the main file has all of the one before, or that is lost.
  private func settle(_ state: inout State) throws(VaultFailure) {
    let generation = max(state.mark.generation, state.log ?? 0)
    let frames = committed.load(ordering: .acquiring)
    let mark = LogMark(
      generation: generation, frames: frames, copied: frames, state: .spare)
    let other = 1 - mark.place
    if !state.isWhole[other] {
      var before = LogMark.initial
      before.generation = generation == 0 ? 0 : generation - 1
      try put(before, in: other, &state)
      try copies.sync()
    }
    try put(mark, in: mark.place, &state)
    try copies.sync()
    state.mark = mark
    state.isSettled = true
  }

  /// A commit is in the log, whose last frame is `frame`. The first one names the log.
  @inline(__always)
  func commit(_ frame: UInt64) {
    committed.store(frame, ordering: .releasing)
    if !isNamed.load(ordering: .acquiring) { name() }
  }

  private func name() {
    state.withLock { state in
      guard let log = state.log, state.isActive else { return }
      var mark = state.mark
      if mark.generation != log {
        // Its header is synced before its first frame is written; a storage may fail to.
        guard state.isBegun else { return }
        mark = LogMark(generation: log, frames: 0, copied: 0, state: .needed)
      }
      if mark.state == .spare { mark.state = .needed }
      isNamed.store(true, ordering: .releasing)
      write(mark, &state)
    }
  }

  /// What a sync of the log that begins now brings to disk.
  struct Reached: Sendable {
    fileprivate let log: UInt64?
    fileprivate let frames: UInt64
  }

  var reached: Reached {
    state.withLock { Reached(log: $0.log, frames: committed.load(ordering: .acquiring)) }
  }

  /// The log is on disk that far. The writer may have begun another one meanwhile.
  func synced(_ reached: Reached) {
    state.withLock { state in
      guard let log = reached.log, state.log == log else { return }
      state.isBegun = true
      guard reached.frames > 0, state.isActive else { return }
      var mark = state.mark
      if mark.generation != log {
        mark = LogMark(generation: log, frames: 0, copied: 0, state: .needed)
        isNamed.store(true, ordering: .releasing)
      } else if mark.state == .spare || !countsFrames {
        return
      } else if reached.frames <= mark.frames && !state.isLost {
        return
      }
      if countsFrames { mark.frames = reached.frames }
      write(mark, &state)
    }
  }

  /// The writer begins to copy pages of the log into the main file.
  func copyingBegins() {
    state.withLock { state in
      guard let log = state.log, state.isActive else { return }
      var mark = state.mark
      if mark.generation != log {
        mark = LogMark(generation: log, frames: 0, copied: 0, state: .copying)
      }
      mark.state = .copying
      write(mark, &state)
    }
  }

  /// All pages are in the main file, which is about to be synced, and this with it.
  func copyingEnds() -> Int32 {
    state.withLock { state in
      guard state.mark.state == .copying else { return SQLITE_OK }
      let frames = committed.load(ordering: .acquiring)
      var mark = state.mark
      (mark.frames, mark.copied, mark.state) = (frames, frames, .spare)
      do throws(VaultFailure) { try put(mark, in: mark.place, &state) } catch {
        return Self.code(error)
      }
      state.mark = mark
      isNamed.store(false, ordering: .releasing)
      return SQLITE_OK
    }
  }

  /// The main file was synced.
  func mainFileSynced() {
    state.withLock { state in
      state.isSettled = state.mark.state == .spare && !state.isWhole.contains(false)
    }
  }

  // MARK: Writing

  /// A mark that cannot be written leaves less noticed and nothing wrong.
  private func write(_ mark: LogMark, _ state: inout State) {
    state.mark = mark
    do throws(VaultFailure) { try put(mark, in: mark.place, &state) } catch {
      // It is torn, or the one before.
    }
  }

  private func put(_ mark: LogMark, in place: Int, _ state: inout State) throws(VaultFailure) {
    state.isSettled = false
    state.isWhole[place] = false
    try copies.put(mark.sealed(in: place, fileId: fileId, keys: keys), in: place)
    state.isWhole[place] = true
  }

  private static func code(_ failure: VaultFailure) -> Int32 {
    switch failure {
    case .full: SQLITE_FULL
    case .io(let code): code
    case .locked: Code.lost
    default: Code.writeFailed
    }
  }
}
