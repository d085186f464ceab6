/// Which transaction of a world fails when it is committed, and what the process knew then.
internal import Engine

/// What becomes of the device after the commit that fails.
package enum AfterFailure: Sendable, Equatable {
  /// It goes on, with what it knows.
  case live
  /// Its process ends, and another one opens the file.
  case reopened
}

/// Used by a world's one thread.
final class CommitPlan: CommitWatch, @unchecked Sendable {
  /// The number of the transaction that is to fail, or the next one that writes; nil for none.
  private let number: Int?
  /// How many have begun.
  private(set) var begun = 0
  private(set) var hasFailed = false
  /// What a failed one has left changed in memory.
  private(set) var leaks: [String] = []
  /// How much of the process was seen.
  private(set) var linesSeen = 0
  private var before: MemoryText?
  var isOver = false

  init(failing number: Int?) {
    self.number = number
  }

  /// Whether one may fail yet.
  var isArmed: Bool { number != nil && !isOver }

  func begins(_ engine: AnyObject) -> Bool {
    if isOver { return false }
    begun += 1
    guard let number, begun >= number, !hasFailed else { return false }
    before = MemoryText(of: engine)
    return true
  }

  func failed(_ engine: AnyObject) {
    guard let before, !hasFailed else { return }
    hasFailed = true
    linesSeen = before.lines.count
    leaks = MemoryText.differences(before, MemoryText(of: engine))
    self.before = nil
  }
}
