/// Long work in steps, whatever it is.
///
/// Rule protected: a step is at least one transaction and ends; what is done stays done, and who
/// lets go of the work ends it.
internal import Base

/// What is done in steps.
protocol WorkBody: Sendable {
  /// As little as there is to do at once; whether all is done.
  func step() throws(Failure) -> Bool
  func progress() throws(Failure) -> WorkProgress
  /// What it has erased, once all is done; nil of other work.
  var receipt: RekeyReceipt? { get }
  /// What a check of the file has found, once all is done; nil of other work.
  var checked: FileCheck? { get }
}

extension WorkBody {
  var receipt: RekeyReceipt? { nil }
  var checked: FileCheck? { nil }
}

/// What a check of the file has found.
package struct FileCheck: Sendable {
  package var pages: UInt64
  package var damaged: UInt64
  package var contradictions: UInt64
  /// Its damage is healed; the next two are kept then.
  package var isHealed = false
  package var messages: UInt64 = 0
  package var operations: UInt64 = 0
}

/// What a new data key has made unreadable.
package struct RekeyReceipt: Sendable {
  /// Of the conversation that was erased, as the next four.
  package let conversations: UInt64
  package let messages: UInt64
  package let operations: UInt64
  package let items: UInt64
  package let bytes: UInt64
  /// Bytes of the new file.
  package let fileBytes: UInt64
}

package final class Work: Sendable {
  /// Whose work it is; nil where no client has the file.
  package let client: Client?
  private let body: any WorkBody
  private let clock: @Sendable () -> Instant

  init(_ client: Client, _ body: any WorkBody) {
    self.client = client
    self.body = body
    clock = { client.now() }
  }

  init(_ body: any WorkBody, clock: @escaping @Sendable () -> Instant) {
    client = nil
    self.body = body
    self.clock = { clock().bounded }
  }

  /// Works for about so many milliseconds, at least a little.
  package func step(milliseconds: Int64) throws(Failure) -> WorkProgress {
    let start = clock().monotonicMs
    while try !body.step() {
      if clock().monotonicMs &- start >= milliseconds { break }
    }
    return try body.progress()
  }

  package func progress() throws(Failure) -> WorkProgress { try body.progress() }

  /// Nil before the end.
  package var receipt: RekeyReceipt? { body.receipt }

  /// Nil before the end.
  package var checked: FileCheck? { body.checked }
}
